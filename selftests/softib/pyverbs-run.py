#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run rdma-core's own tests, and compare what becomes of each with a list.

usage: pyverbs-run.py TESTS LIST DEVICE

TESTS is the folder with the tests. A line of LIST is "pass NAME", or "skip PATTERN
REASON". Prints results in the Test Anything Protocol.
"""
import fnmatch
import importlib
import os
import random
import sys
import time
import unittest


# Tests choose sizes and flags by chance. With these choices none asks for a flag of
# extended QPs, which libhfi1verbs does not have.
CHOICES = 0


# This test counts on completions that it does not wait for, and nothing tells of them but polling,
# which it must not.
HASTY = 'test_resize_cq'


def patiently(send):
    """As send, which gives the adapter time to complete it."""
    def call(*args, **kwargs):
        send(*args, **kwargs)
        time.sleep(0.2)

    return call


class Outcomes(unittest.TestResult):
    """What became of each test, by its name."""

    def __init__(self, utils):
        super().__init__()
        self.utils, self.send = utils, utils.send
        self.patient = patiently(utils.send)
        self.passed, self.skips, self.failed = set(), {}, {}
        self.begin = 0

    def startTest(self, test):
        super().startTest(test)
        random.seed(CHOICES)
        if test.id().endswith(HASTY):
            self.utils.send = self.patient
        self.begin = time.monotonic()

    def stopTest(self, test):
        self.utils.send = self.send
        took = time.monotonic() - self.begin
        if took > 1:
            print(f'# {test.id()}: {took:.1f} s')
        super().stopTest(test)

    def addSuccess(self, test):
        self.passed.add(test.id())

    def addSkip(self, test, reason):
        self.skips[test.id()] = reason

    def addFailure(self, test, err):
        self.failed[test.id()] = self._exc_info_to_string(err, test)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(test, err)


def read_list(path):
    """The names of those that pass, and the patterns of those that are skipped."""
    passes, skips = set(), []
    with open(path, encoding='utf-8') as file:
        for line in file:
            words = line.split(maxsplit=2)
            if not words or words[0].startswith('#'):
                continue
            if words[0] == 'pass':
                passes.add(words[1])
            else:
                skips.append(words[1])
    return passes, skips


def run(folder, device):
    """Run all tests of a folder on a device."""
    sys.path.insert(0, os.path.dirname(folder))
    sys.path.insert(0, folder)
    sys.argv = [sys.argv[0], '--dev', device]
    importlib.import_module('args_parser').parser.parse_args()
    tests = importlib.import_module(os.path.basename(folder))
    outcomes = Outcomes(importlib.import_module('tests.utils'))
    unittest.defaultTestLoader.loadTestsFromModule(tests).run(outcomes)
    return outcomes


def result(number, wrong, name):
    """One result, and before it what is wrong."""
    for line in wrong:
        print('#', line.replace('\n', '\n# '))
    print(f'{"not ok" if wrong else "ok"} {number} - {name}', flush=True)
    return bool(wrong)


def main():
    folder, names, device = sys.argv[1:]
    passes, skips = read_list(names)
    print('1..4', flush=True)
    got = run(os.path.abspath(folder), device)
    bad = result(1, [f'{n}: {why}' for n, why in sorted(got.failed.items())],
                 'none fails')
    bad |= result(2, [f'pass {n}: {got.skips.get(n, "did not")}'
                      for n in sorted(passes - got.passed - set(got.failed))],
                  f'the {len(passes)} that are to pass do')
    bad |= result(3, [f'skip {n} {why}' for n, why in sorted(got.skips.items())
                      if not any(fnmatch.fnmatch(n, p) for p in skips)],
                  'what is skipped is known, with the reason')
    stale = [f'skip {p}: matches nothing' for p in skips
             if not fnmatch.filter(got.skips, p)]
    stale += [f'pass {n}: is not in the list' for n in sorted(got.passed - passes)]
    bad |= result(4, stale, 'the list tells no more and no less')
    sys.exit(bad)


main()
