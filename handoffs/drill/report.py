"""A drill's report: as data, as JUnit XML for CI, and as what was judged of each seam."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from handoffs.drill.cases import CODES, Case, DrillReport, SeamReport, Verdict

WORDS = {Verdict.READY: "ready", Verdict.NOT_READY: "not ready", Verdict.NOT_COVERED: "not covered"}


def as_data(report: DrillReport, *, keep: bool = False) -> dict[str, Any]:
    """The report as JSON data. Without `keep`, cases where all is well are counted, not listed."""
    return {
        "flow": report.flow,
        "step": report.step,
        "seed": report.seed,
        "verdict": report.verdict.value,
        "ready": report.verdict is Verdict.READY and not report.step,
        "seconds": round(report.seconds, 2),
        "cases": len(report.cases),
        "through_engine": sum(case.engine for case in report.cases),
        "distinct_bodies": report.distinct,
        "seams": [_seam(seam, keep) for seam in report.seams],
    }


def _seam(seam: SeamReport, keep: bool) -> dict[str, Any]:
    return {
        "name": seam.name,
        "step": seam.step,
        "contracts": seam.contracts,
        "verdict": seam.verdict.value,
        "reason": seam.reason,
        "classes": {kind: _class(cases) for kind, cases in seam.classes().items()},
        "not_applicable": seam.not_applicable,
        "failing": [_case(case) for case in seam.cases if case.code],
        "kept": [_case(case) for case in seam.cases if not case.code] if keep else [],
    }


def _class(cases: list[Case]) -> dict[str, int]:
    return {
        "cases": len(cases),
        "through_engine": sum(case.engine for case in cases),
        "holes": sum(case.is_hole for case in cases),
        "faults": sum(case.is_fault for case in cases),
        "allowed": sum(case.allowed for case in cases),
    }


def _case(case: Case) -> dict[str, Any]:
    return {
        "class": case.kind,
        "pointer": case.pointer,
        "note": case.note,
        "digest": case.digest,
        "code": case.code,
        "meaning": CODES.get(case.code, ""),
        "sentence": case.sentence,
        "hole": case.is_hole,
        "allowed": case.allowed,
        "body": case.body,
    }


def as_junit(report: DrillReport) -> str:
    """The report as JUnit XML: a suite per seam, a test per class."""
    suites = ElementTree.Element("testsuites", name=f"drill {report.flow}", time=f"{report.seconds:.3f}")
    for seam in report.seams:
        _suite(suites, report, seam)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _suite(suites: ElementTree.Element, report: DrillReport, seam: SeamReport) -> None:
    suite = ElementTree.SubElement(suites, "testsuite", name=seam.name)
    for kind, cases in seam.classes().items():
        test = ElementTree.SubElement(suite, "testcase", name=kind, classname=f"{report.flow}.{seam.name}")
        wrong = [case for case in cases if case.is_fault or case.is_hole]
        if wrong:
            words = [f"{case.pointer} {case.note}: {case.code} {case.sentence}" for case in wrong[:20]]
            failure = ElementTree.SubElement(test, "failure", message=CODES.get(wrong[0].code, wrong[0].code))
            failure.text = _plain("\n".join(words))
    if seam.uncovered:
        test = ElementTree.SubElement(suite, "testcase", name="covered", classname=f"{report.flow}.{seam.name}")
        ElementTree.SubElement(test, "failure", message=_plain(seam.uncovered))
    tests = list(suite)
    suite.set("tests", str(len(tests)))
    suite.set("failures", str(sum(test.find("failure") is not None for test in tests)))


def _plain(text: str) -> str:
    """Without what XML can't hold."""
    return "".join(c if c in "\n\t" or " " <= c < "\ud800" or "\ue000" <= c <= "\ufffd" else "�" for c in text)
