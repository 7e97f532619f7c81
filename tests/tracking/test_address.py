"""No password of an address is kept or printed, and an address that cannot be used is refused soon."""

import os
import re
from urllib.parse import quote

import pytest
from application import assert_refused, succeeded
from hypothesis import given
from hypothesis import strategies as st

import ragsweep
from ragsweep.app.commands.stores import ui
from ragsweep.core.errors import RagsweepError, RefusedError, TrackingError
from ragsweep.tracking.address import check_address, check_arguments
from ragsweep.tracking.tracking_store import open_store

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
ENTRANCES = {
    "run": lambda application, uri: application.run(uri),
    "sweep": lambda application, uri: application.run("-m", "k=1,2", uri),
    "swept": lambda application, uri: application.run("-m", f"{uri},sqlite:///x.db"),
    "dry sweep": lambda application, uri: application.run("-m", "k=1,2", uri, "+dry_run=true"),
    "verbose": lambda application, uri: application.run("-v", uri),
    "shown": lambda application, uri: application.run(uri, "--cfg", "job"),
    "reproduce": lambda application, uri: application.script("reproduce", "a", uri),
    "explain, no query": lambda application, uri: application.script("explain", "a", uri),
    "reproduce, as an option": lambda application, uri: application.script("reproduce", "a", f"--{uri}"),
}


def left_behind(folder, needle):
    """The files below a folder whose name or content has this in it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if needle in str(path) or needle.encode() in path.read_bytes()]


def assert_kept_secret(process, application):
    assert process.returncode == 2, process.stderr
    assert CANARY not in process.stdout + process.stderr
    assert left_behind(application.home, CANARY) == []
    assert not (application.home / "outputs").exists()


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_password_in_the_address_is_refused_without_repeating_it(application, entrance):
    process = ENTRANCES[entrance](application, f"tracking.uri={SECRET['password']}")
    assert_kept_secret(process, application)
    if entrance != "verbose":
        [line] = process.stderr.splitlines()
        assert "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD" in line


@pytest.mark.parametrize("kind", sorted(SECRET.keys() - {"mistyped", "unreadable"}))
def test_every_kind_of_password_is_refused(kind):
    with pytest.raises(RefusedError) as error:
        check_arguments([f"tracking.uri={SECRET[kind]}"])
    assert CANARY not in str(error.value)


@pytest.mark.parametrize("kind", ["mistyped", "no host", "unreadable"])
def test_a_port_that_may_be_a_password_is_in_no_traceback(application, kind):
    assert_kept_secret(application.run("-v", f"tracking.uri={SECRET[kind]}"), application)


@pytest.mark.parametrize("kind", ["password", "postgresql", "server in the user", "no scheme"])
@pytest.mark.parametrize(
    "argument",
    [
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
    ],
)
def test_a_password_is_found_wherever_the_address_is_set(argument, kind):
    setting = next((name for name in ("questions.uri", "retriever.uri") if name in argument), "tracking.uri")
    with pytest.raises(RefusedError, match=f"^{setting}: ") as error:
        check_arguments([argument.format(SECRET[kind])])
    assert CANARY not in str(error.value)


@pytest.mark.parametrize(
    "argument",
    [
        """hydra.job.env_set={"MLFLOW_TRACKING_PASSWORD": hunter2}""",
        """hydra.job.env_set={'PGPASSWORD' : hunter2}""",
        "hydra.job.env_set.MLFLOW_TRACKING_TOKEN=hunter2",
    ],
)
def test_a_password_for_the_environment_of_jobs_is_refused_without_repeating_it(argument):
    with pytest.raises(RefusedError, match="expected in the environment, not among the arguments") as error:
        check_arguments([argument])
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "uri",
    [
        *("databricks://x", "file:///mlruns", "mlruns", "postgres://h/db", "gopher://x", "httpx://x", "http://"),
        *("127.0.0.1:5000", "sqlite://", "sqlite:///:memory:", "sqlite:///file:x?uri=true", "sqlite:///~/x.db"),
    ],
)
def test_another_kind_of_store_is_refused_with_the_kinds_that_there_are(uri):
    with pytest.raises(RefusedError, match=r"sqlite:///mlflow\.db .*an MLflow server, SQLite, PostgreSQL, MySQL or"):
        check_address(uri)
    with pytest.raises(RefusedError, match=r"^questions\.uri: "):
        check_address(uri, "questions.uri")


def test_a_password_from_elsewhere_is_refused(application):
    process = application.run("tracking.uri=${oc.env:ADDRESS}", ADDRESS=SECRET["postgresql"])
    assert_kept_secret(process, application)
    assert "PGPASSWORD" in process.stderr
    process = application.run("-m", "k=1,2", "tracking.uri=${oc.env:ADDRESS}", ADDRESS=SECRET["no scheme"])
    assert_kept_secret(process, application)
    process = application.run("hydra.job.env_set.MLFLOW_TRACKING_PASSWORD=" + CANARY)
    assert_kept_secret(process, application)


@pytest.mark.parametrize(
    "ask", [ragsweep.runs, lambda uri: ragsweep.per_query("x", uri=uri)], ids=["runs", "per_query"]
)
@pytest.mark.parametrize("kind", SECRET)
def test_a_notebook_is_told_without_repeating_it(ask, kind):
    with pytest.raises(RefusedError) as error:
        ask(uri=SECRET[kind]) if ask is ragsweep.runs else ask(SECRET[kind])
    assert CANARY not in str(error.value)


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
        with pytest.raises(RefusedError) as error:
            check(uri)
        assert CANARY not in str(error.value)


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:5000",
        "https://mlflow.example.org/team/@mlflow",
        "postgresql://mlflow@127.0.0.1:5432/mlflow",
        "postgresql://db/mlflow?sslmode=require&sslkey=/etc/key.pem&passfile=/home/me/.pgpass",
        "mysql+pymysql://me@db/mlflow",
        "postgresql:///db?host=/var/run:5432&application_name=a@b",
        "postgresql://me@server@db/mlflow",
        "sqlite:////home/me@work/token=1/it's a store/mlflow.db",
        "sqlite:///mlflow.db",
    ],
)
def test_an_address_without_a_password_is_fine(uri):
    check_address(uri)
    check_arguments([f"tracking.uri={uri}", f"tracking.uri='{uri}',{uri}", "hydra.job.env_copy=[PGPASSWORD]"])


@pytest.fixture
def places(tmp_path):
    """Files and folders that are no store."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("notes, but no database\n" * 100)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "other.db").write_bytes(_other_database(tmp_path))
    return tmp_path


def _other_database(folder):
    import sqlite3

    with sqlite3.connect(folder / "draft") as connection:
        connection.execute("CREATE TABLE bookmarks (name TEXT)")
    content = (folder / "draft").read_bytes()
    (folder / "draft").unlink()
    return content


UNUSABLE = {
    "sqlite:///{0}/folder": "it is not a file",
    "sqlite:///{0}/pipe": "it is not a file",
    "sqlite:///{0}/notes.txt": "file is not a database",
    "sqlite:///{0}/other.db": "it is a database of another program",
    "sqlite:///{0}/notes.txt/x.db": "notes.txt is not a folder",
    "sqlite:////proc/x.db": "No such file or directory",
    "sqlite:////dev/null": "it is not a file",
    "gopher://x": "expected an address such as",
    "postgresql://127.0.0.1:9/x": "cannot be opened (",
    "postgresql+nodriver://127.0.0.1/x": "cannot be opened (",
}


@pytest.mark.timeout(60)  # MLflow itself would try for minutes
@pytest.mark.parametrize("uri", UNUSABLE)
def test_what_cannot_be_a_store_is_refused_soon_and_left_alone(places, uri):
    before = {path: path.stat().st_mtime_ns for path in places.rglob("*") if path.is_file()}
    with pytest.raises(TrackingError, match=f"^tracking.uri: .*{re.escape(UNUSABLE[uri])}"):
        open_store(uri.format(places), "new", str(places / "artifacts"))
    assert {path: path.stat().st_mtime_ns for path in places.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("mode", [["-m", "k=1,2"], ["retriever=sparse"]], ids=["sweep", "run"])
def test_a_run_is_refused_before_any_work(application, places, mode):
    process = application.run(*mode, f"tracking.uri=sqlite:///{places}/notes.txt")
    assert_refused(process, application, "file is not a database")
    assert "tracking.uri: " in process.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_named(application, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    process = application.run(f"tracking.uri=sqlite:///{tmp_path}/closed/x.db")
    assert_refused(process, application, "closed cannot be written to")


def test_a_relative_address_is_kept_in_full_and_files_beside_the_database_are_left_alone(application, dataset):
    (application.home / "sub").mkdir()
    others = [application.home / "sub" / name for name in ("mine.lock", "mine.new")]
    for other in others:
        other.write_text("mine")
    succeeded(application.run(*dataset, "retriever=sparse", "tracking.uri=sqlite:///sub/mine.db"))
    assert (application.home / "sub" / "mine.db").exists()
    journal = (application.home / "outputs" / "tracking.json").read_text()
    assert f"sqlite:///{application.home}/sub/mine.db" in journal
    assert [other.read_text() for other in others] == ["mine", "mine"]


@pytest.mark.parametrize("kind", ["password", "token", "slash", "query", "unreadable"])
def test_the_ui_does_not_repeat_the_password_of_a_server(monkeypatch, kind):
    monkeypatch.setattr("sys.argv", ["ui", "--uri", SECRET[kind]])
    with pytest.raises(RagsweepError, match=r"127\.0\.0\.1:9.* is a server; open it|has a user or password") as caught:
        ui()
    assert CANARY not in str(caught.value)
