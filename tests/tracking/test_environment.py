"""What a run says of the code that made it, and what of that code leaves this machine."""

import subprocess

import pytest

from ragsweep.tracking.recorded_environment import git_commit, is_dirty, uncommitted_patch, untracked

pytestmark = pytest.mark.usefixtures("processes")


def git(folder, *arguments):
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    return subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path):
    """A repository with a commit of one file."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "code.py").write_text("k = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_a_clean_checkout_is_its_commit(project):
    assert git_commit(project) == git(project, "rev-parse", "HEAD").strip()
    assert (is_dirty(project), uncommitted_patch(project), untracked(project)) == (False, "", "")


def test_a_change_of_a_tracked_file_is_a_patch_that_applies(project):
    (project / "code.py").write_text("k = 2\n")
    patch = uncommitted_patch(project)
    assert is_dirty(project)
    git(project, "checkout", "-q", "code.py")
    (project.parent / "patch").write_text(patch)
    git(project, "apply", "../patch")
    assert (project / "code.py").read_text() == "k = 2\n"


def test_of_a_file_that_git_does_not_have_only_the_name_leaves_this_machine(project):
    (project / "secret.py").write_text("PASSWORD = 'hunter2'\n")
    (project / "corpus").mkdir()
    for number in range(3):
        (project / "corpus" / f"{number}.yaml").write_text("hunter2")
    assert uncommitted_patch(project) == ""
    assert not is_dirty(project)
    assert untracked(project) == "corpus/\nsecret.py\n"


def test_what_is_no_repository_of_its_own_with_a_commit_has_none(project, tmp_path, monkeypatch):
    (project / "ragsweep").mkdir()
    (project / "ragsweep" / "code.py").write_text("k = 1\n")
    inner = project / "ragsweep"
    assert (git_commit(inner), is_dirty(inner), uncommitted_patch(inner), untracked(inner)) == (None, False, "", "")
    git(tmp_path, "init", "-q")
    assert (git_commit(tmp_path), uncommitted_patch(tmp_path)) == (None, "")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    assert git_commit(other) is None
