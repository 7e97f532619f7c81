"""Names and values of keys, as public servers and clients have them, and those that only look similar."""

from ragsweep.models.language.endpoint_access import is_like_key, is_named_like_key, likely_key

KEYS = """
    Authorization Proxy-Authorization X-Authentication Cookie api-key apikey X-Api-Key X-Api-Keys x-goog-api-key
    Ocp-Apim-Subscription-Key X-Access-Token X-Access-Tokens X-Amz-Security-Token PRIVATE-TOKEN X_AUTH X-Auth JWT Bearer
    X-Session X-Auth-Token X-Signature X-KEY-1
    key token api_key apiKey OPENAI_API_KEY api_token auth_token authToken hf_token HF_TOKEN access_token id_token
    connection_string connectionString private_key privateKey bearer jwt password db_password client_secret credentials
"""
NO_KEYS = """
    max_tokens maxTokens max_completion_tokens min_tokens prompt_tokens token_type_ids stop_token_ids keywords monkey
    skip_special_tokens eos_token ignore_eos_token prompt_cache_key author author_id authors input_type reasoning_effort
    session_id x-session-affinity X-Title X-Tier HTTP-Referer top_k passage tokenizer thinking_budget_tokens keyframes
"""


VALUES = {
    "Bearer gsk_0123": True,
    "Authorization: bearer gsk_0123": True,
    "postgresql://user:pass@host/db": True,
    "redis://:pass@host": True,
    "Basic dXNlcjpwYXNzd29yZA==": True,
    "Token 0123456789": True,
    "ApiKey bXkta2V5": True,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmN": True,
    "sk-proj-0123456789abcdef": True,
    "ghp_0123456789abcdefghij": True,
    "hf_0123456789abcdefghij": True,
    "AKIAIOSFODNN7EXAMPLE": True,
    "Basic research of iron": False,
    "token by token": False,
    "Token": False,
    "sk-SK": False,
    "gpt-4o-mini-2024-07-18": False,
    "hf-internal-testing/tiny-random-gpt2-for-tests": False,
    "HuggingFaceTB/SmolLM2-135M-Instruct": False,
    "https://host:8080/v1/@scope/name": False,
    "the bearer of this letter": False,
    "mail a@b.org": False,
}


def test_names_and_values_of_keys_are_recognised_and_no_others():
    assert [name for name in KEYS.split() if not is_named_like_key(name)] == []
    assert [name for name in NO_KEYS.split() if is_named_like_key(name)] == []
    assert {value: is_like_key(value) for value in VALUES} == VALUES


def test_fields_are_looked_at_at_any_depth():
    assert likely_key({"a": [{"b": [["Bearer gsk_0123"]]}], "max_tokens": 3}) == "b"
    managed = {"type": "system_assigned_managed_identity"}
    assert likely_key({"data_sources": [{"parameters": {"authentication": managed}}]}) is None
    assert likely_key({"authentication": {"type": "api_key", "key": "0123"}}) == "key"
    assert likely_key({"credentials": {"user": "me"}}) == "credentials"
