"""A plugin that runs each test in a process of its own, forked after collection:
`PYTHONPATH=tests/helpers python -m pytest -n 0 -p each_alone FILE`.
"""

import os
import pickle

import pytest
from _pytest.runner import runtestprotocol


def pytest_sessionstart(session):
    # one folder for all, or each process would look for a number of its own
    session.config._tmp_path_factory.getbasetemp()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    hook = item.config.hook
    read, write = os.pipe()
    child = os.fork()
    if not child:
        reports = runtestprotocol(item, log=False, nextitem=None)
        kept = [
            hook.pytest_report_to_serializable(config=item.config, report=report)
            for report in reports
        ]
        with open(write, "wb") as file:
            pickle.dump(kept, file)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        content = file.read()
    _, status = os.waitpid(child, 0)
    assert content, f"{item.nodeid} ended its process: {status}"
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for data in pickle.loads(content):
        report = hook.pytest_report_from_serializable(config=item.config, data=data)
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
