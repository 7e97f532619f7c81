"""No password of an address is kept or printed, and an address that cannot be used is refused soon."""

import os
import re
import sqlite3
from urllib.parse import quote

import pytest
from application import assert_refused
from hypothesis import given
from hypothesis import strategies as st

import ragsweep
from ragsweep.app.commands.stores import ui
from ragsweep.core.errors import RagsweepError, RefusedError, TrackingError
from ragsweep.tracking.store_address import absolute, check_address, check_arguments
from ragsweep.tracking.tracking_store import open_store
from tracking.stored import run_here

CANARY = "c4n4ry"
SECRET = {
    "password": f"http://alice:{CANARY}@127.0.0.1:9",
    "token": f"https://{CANARY}@127.0.0.1:9/mlflow",
    "slash": f"http://alice:{CANARY}/x@127.0.0.1:9",
    "query": f"http://127.0.0.1:9?token={CANARY}",
    "postgresql": f"postgresql://mlflow:{CANARY}@127.0.0.1:9/db",
    "postgresql query": f"postgresql://127.0.0.1:9/db?user=me&password={CANARY}",
    "at": f"postgresql://mlflow:p/{CANARY}?x@127.0.0.1:9/db",
    "server in the user": f"postgresql://alice@server:{CANARY}@127.0.0.1:9/db",
    "short": f"mysql+pymysql://al@x:{CANARY}@h/db",
    "slash in the user": f"postgresql://office/alice:{CANARY}@127.0.0.1:9/db",
    "quoted colon": f"postgresql://alice%3A{CANARY}@127.0.0.1:9/db",
    "comma": f"postgresql://al@x:12,{CANARY}@127.0.0.1:9/db",
    "no host": f"postgresql://alice:{CANARY}/db",
    "odbc": f"mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3D{CANARY}",
    "no scheme": f"alice:{CANARY}@127.0.0.1:9",
    "mistyped": f"http//alice:{CANARY}@127.0.0.1:9",
    "unreadable": f"http://alice:{CANARY}{{[@127.0.0.1:9",
}
ENTRANCES = (
    *(["run", *given] for given in (["{}"], ["-m", "k=1,2", "{}"], ["-m", "{},sqlite:///x.db"], ["-v", "{}"])),
    *(["run", *given] for given in (["-m", "k=1,2", "{}", "+dry_run=true"], ["{}", "--cfg", "job"])),
    *([command, "a", "{}"] for command in ("reproduce", "explain")),
    ["reproduce", "a", "--{}"],
    ["run", f"hydra.job.env_set.MLFLOW_TRACKING_PASSWORD={CANARY}"],
)
LATER = {  # a port that may be a password, in no traceback; and a password from the environment
    **{f"-v tracking.uri={SECRET[kind]}": "" for kind in ("mistyped", "no host", "unreadable")},
    "tracking.uri=${oc.env:ADDRESS}": SECRET["postgresql"],
    "-m k=1,2 tracking.uri=${oc.env:ADDRESS}": SECRET["no scheme"],
}
WITHIN = (  # where the address can be in an argument
    "tracking={{uri: '{}'}}",
    "++tracking.uri={}",
    "hydra.sweeper.params.tracking.uri={}",
    "+hydra.sweeper.params={{k: '1,2', tracking.uri: '{}'}}",
    "hydra.sweeper.params={{'tracking.uri':{}}}",
    "--tracking.uri=sqlite:///x.db,{}",
    "questions.uri={}",
    "+dataset.questions.uri={}",
    "retriever.uri={}",
    "+hydra.sweeper.params={{task.retriever.uri: '{}'}}",
)


def assert_kept_secret(process, application):
    assert process.returncode == 2, process.stderr
    assert CANARY not in process.stdout + process.stderr
    files = [path for path in application.home.rglob("*") if path.is_file()]
    assert [path for path in files if CANARY in str(path) or CANARY.encode() in path.read_bytes()] == []
    assert not (application.home / "outputs").exists()


def refusal_of(check, *arguments, **named):
    """The message of a refusal, which does not repeat the password."""
    with pytest.raises(RefusedError) as refused:
        check(*arguments, **named)
    assert CANARY not in str(refused.value)
    return str(refused.value)


def test_a_password_in_the_address_is_refused_without_repeating_it(application):
    for arguments in ENTRANCES:
        address = f"tracking.uri={SECRET['password']}"
        process = application.start_script_here(*(argument.format(address) for argument in arguments))
        assert_kept_secret(process, application)
        assert "MLFLOW_TRACKING_" in process.stderr
        assert "-v" in arguments or len(process.stderr.splitlines()) == 1


def test_what_is_seen_only_later_is_not_repeated_either(application):
    for arguments, variable in LATER.items():
        assert_kept_secret(run_here(application, *arguments.split(" "), ADDRESS=variable), application)


def test_a_password_is_found_wherever_the_address_is_set():
    for kind in SECRET.keys() - {"mistyped", "unreadable"}:
        refusal_of(check_arguments, [f"tracking.uri={SECRET[kind]}"])
    assert "PGPASSWORD" in refusal_of(check_address, SECRET["postgresql"])
    for argument in WITHIN:
        setting = next((name for name in ("questions.uri", "retriever.uri") if name in argument), "tracking.uri")
        for kind in ("password", "postgresql", "server in the user", "no scheme"):
            assert refusal_of(check_arguments, [argument.format(SECRET[kind])]).startswith(f"{setting}: ")
    for variables in ('={"MLFLOW_TRACKING_PASSWORD": %s}', "={'PGPASSWORD' : %s}", ".MLFLOW_TRACKING_TOKEN=%s"):
        refusal = refusal_of(check_arguments, [f"hydra.job.env_set{variables % CANARY}"])
        assert "expected in the environment" in refusal


def test_another_kind_of_store_is_refused_with_the_kinds_that_there_are():
    for uri in [
        *("databricks://x", "file:///mlruns", "mlruns", "postgres://h/db", "gopher://x", "httpx://x", "http://"),
        *("127.0.0.1:5000", "sqlite://", "sqlite:///:memory:", "sqlite:///file:x?uri=true", "sqlite:///~/x.db"),
    ]:
        refusal = refusal_of(check_address, uri)
        assert re.search(r"sqlite:///mlflow\.db .*an MLflow server, SQLite, PostgreSQL, MySQL or", refusal), uri
        assert refusal_of(check_address, uri, "questions.uri").startswith("questions.uri: ")
    read_otherwise = refusal_of(check_address, "sqlite:////a%41b/x.db")  # by SQLAlchemy, which unquotes
    assert "MLflow reads it as 'sqlite:////aAb/x.db'; set tracking.uri to " in read_otherwise


def test_a_notebook_is_told_without_repeating_it():
    for uri in SECRET.values():
        refusal_of(ragsweep.runs, uri=uri)
        refusal_of(ragsweep.per_query, "x", uri=uri)


@given(
    scheme=st.sampled_from(["http", "https", "postgresql", "postgresql+psycopg", "mysql", "gopher"]),
    user=st.text(st.characters(exclude_characters=":@/?#\\", codec="utf-8"), max_size=5),
    rest=st.text(st.sampled_from("ab:/?#{}[]'\",\\ %"), max_size=5),
    quoted=st.booleans(),
)
def test_whatever_else_is_in_it_a_password_is_not_repeated(scheme, user, rest, quoted):
    password = f"{CANARY}{rest}"
    uri = f"{scheme}://{user}:{quote(password, safe='') if quoted else password}@host/x"
    for check in (check_address, lambda uri: check_arguments([f"tracking.uri={uri}"])):
        refusal_of(check, uri)


def test_an_address_without_a_password_is_fine_and_a_relative_one_kept_in_full(tmp_path, monkeypatch):
    for uri in [
        "http://127.0.0.1:5000",
        "https://mlflow.example.org/team/@mlflow",
        "postgresql://mlflow@127.0.0.1:5432/mlflow",
        "postgresql://db/mlflow?sslmode=require&sslkey=/etc/key.pem&passfile=/home/me/.pgpass",
        "mysql+pymysql://me@db/mlflow",
        "postgresql:///db?host=/var/run:5432&application_name=a@b",
        "postgresql://me@server@db/mlflow",
        "sqlite:////home/me@work/token=1/it's a store/mlflow.db",
        "sqlite:///mlflow.db",
    ]:
        check_address(uri)
        check_arguments([f"tracking.uri={uri}", f"tracking.uri='{uri}',{uri}", "hydra.job.env_copy=[PGPASSWORD]"])
    monkeypatch.chdir(tmp_path)
    assert absolute("sqlite:///sub/mine.db") == f"sqlite:///{tmp_path}/sub/mine.db"


@pytest.fixture
def places(tmp_path):
    """Files and folders that are no store."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("notes, but no database\n" * 100)
    os.mkfifo(tmp_path / "pipe")
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE bookmarks (name TEXT)")
    return tmp_path


UNUSABLE = {
    "sqlite:///{0}/folder": "it is not a file",
    "sqlite:///{0}/pipe": "it is not a file",
    "sqlite:///{0}/notes.txt": "file is not a database",
    "sqlite:///{0}/other.db": "it is a database of another program",
    "sqlite:///{0}/notes.txt/x.db": "notes.txt is not a folder",
    "sqlite:////proc/x.db": "No such file or directory",
    "sqlite:////dev/null": "it is not a file",
    "gopher://x": "expected an address such as",
    "http://127.0.0.1:9": "http://127.0.0.1:9 cannot be opened (",
    "postgresql://127.0.0.1:9/x": "cannot be opened (",
    "postgresql+nodriver://127.0.0.1/x": "cannot be opened (",
}


@pytest.mark.timeout(60)  # MLflow itself would try for minutes
def test_what_cannot_be_a_store_is_refused_soon_and_left_alone(places):
    before = {path: path.stat().st_mtime_ns for path in places.rglob("*") if path.is_file()}
    for uri, reason in UNUSABLE.items():
        with pytest.raises(TrackingError, match=f"^tracking.uri: .*{re.escape(reason)}"):
            open_store(uri.format(places), "new", str(places / "artifacts"))
    assert {path: path.stat().st_mtime_ns for path in places.rglob("*") if path.is_file()} == before


def test_a_sweep_is_refused_before_any_work(application, places):
    process = run_here(application, "-m", "k=1,2", f"tracking.uri=sqlite:///{places}/notes.txt")
    assert_refused(process, application, f"tracking.uri: sqlite:///{places}/notes.txt cannot be opened")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_named(application, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    process = run_here(application, f"tracking.uri=sqlite:///{tmp_path}/closed/x.db")
    assert_refused(process, application, "closed cannot be written to")


def test_the_ui_does_not_repeat_the_password_of_a_server(monkeypatch):
    for kind in ("password", "token", "slash", "query", "unreadable"):
        monkeypatch.setattr("sys.argv", ["ui", "--uri", SECRET[kind]])
        with pytest.raises(RagsweepError, match=r"is a server; open it|has a user or password") as refused:
            ui()
        assert CANARY not in str(refused.value)
