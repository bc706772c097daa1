# SPDX-License-Identifier: GPL-2.0
#
# Runs tests of CPython, which the arguments name by module or by class. Writes the name of
# each test and its result into the file that the first argument names.

import sys
import traceback
import unittest

from test import support

# With a network, which is the loopback device: what needs the Internet skips itself.
support.use_resources = ["cpu", "network", "walltime"]
support.verbose = 0


class Results(unittest.TestResult):
    def say(self, test, result):
        print(test.id(), result, file=self.file, flush=True)

    def broken(self, test, error):
        print(f"in {test.id()}:", file=sys.stderr)
        traceback.print_exception(*error)
        self.say(test, "failed")

    def addSuccess(self, test):
        self.say(test, "passed")

    def addError(self, test, err):
        self.broken(test, err)

    def addFailure(self, test, err):
        self.broken(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.broken(test, err)

    def addSkip(self, test, reason):
        self.say(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.say(test, "failed as expected")

    def addUnexpectedSuccess(self, test):
        self.say(test, "passed unexpectedly")


results = Results()
with open(sys.argv[1], "w") as results.file:
    unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:]).run(results)
