"""Any file a person may have either works or is refused in words that name the place."""

import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foretell.answers.bound import bound

GOOD = "scenario,score\n" + "".join(f"s{i},{i % 3 // 2}\n" for i in range(12))
WANTED = pytest.approx(4 / 12)


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace(",", ";"),
        GOOD.replace(",", ";").replace(";1\n", ";1,0\n"),
        GOOD.replace(",", "\t"),
        GOOD.replace("scenario,score", " Scenario , SCORE "),
        GOOD.replace("score", "success").replace(",1\n", ",yes\n").replace(",0\n", ",False\n"),
        GOOD.rstrip("\n") + "\n\n\n",
        "sep=;\n" + GOOD.replace(",", ";"),
    ],
)
def test_ways_to_write_the_same_table(sheet, content):
    found = bound(sheet("ünï côde [x].csv", content))
    assert found.intervals[0].estimate == WANTED and found.intervals[0].n == 12


def test_parquet_and_tables_in_memory(tmp_path):
    columns = {"scenario": list(range(12)), "score": [i % 3 // 2 for i in range(12)]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    floats = {**columns, "scenario": [float(i) for i in range(12)], "success": [bool(v) for v in columns["score"]]}
    for source in (tmp_path / "a.parquet", columns, pa.table(columns), floats):
        assert bound(source).intervals[0].estimate == WANTED
    assert bound(floats, metric="success").intervals[0].estimate == WANTED
    paired = bound(columns, floats)  # 7 and 7.0 are one scenario
    assert paired.intervals[0].diagnostics["correlation"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "real.csv is empty"),
        (b"\xef\xbb\xbf \r\n\n", "real.csv is empty"),
        ("scenario,score\n", "has no rows"),
        ("a,b\n1,2\n", "has no column 'score' (or 'success'); it has a, b"),
        ("score\n1\n0\n", "has no column 'scenario'"),
        (GOOD.replace("score", "score,Score"), "line 1, column 'score'"),
        (GOOD.replace("s3,0", "s3,nan"), "real.csv, line 5, 'score': expected a number from 0 to 1; given: 'nan'"),
        (GOOD.replace("s3,0", "s3,inf"), "real.csv, line 5"),
        (GOOD.replace("s3,0", "s3,1.01"), "real.csv, line 5"),
        (GOOD.replace("s3,0", "s3,-0.1"), "real.csv, line 5"),
        (GOOD.replace("s3,0", "s3,"), "real.csv, line 5, 'score': expected a number from 0 to 1; given: nothing"),
        (GOOD.replace("s3,0", ",0"), "real.csv, line 5: the scenario is blank"),
        (
            GOOD.replace("s3,0", '"s3\n\x1b[31m",0\n"s3\n\x1b[31m",0'),
            "line 7: scenario 's3 \\\\x1b[31m' is already in",
        ),
        (GOOD.replace("s3,0", "s2,0"), "real.csv, line 5: scenario 's2' is already in line 4"),
        (GOOD.replace("s3,0", "s3,0,4"), "line 5"),
        ("scenario,score\ns1,1\n", "real.csv has 1 scenario that counts; a bound needs at least 2"),
        ('scenario,score\n"s1,1\ns2,1\n', "line 2"),
        (b"scenario,score\ns1,1\xff\n", "line 2 is not UTF-8"),
        (b"PK\x03\x04rest", "workbook"),
        (b"PAR1rest", "not a valid Parquet file"),
        ("scenario,trial,score\na,1,0\na,2,0\na,1,1\n", "line 4: trial '1' of scenario 'a' is already in line 2"),
        ("scenario,policy,score\na,x,0\nb,,0\n", "real.csv, line 3, 'policy': expected a name"),
    ],
)
def test_what_is_refused(sheet, refused, content, told):
    assert told in refused(bound, sheet("real.csv", content))


def test_places_that_are_no_tables(sheet, refused, tmp_path):
    assert "cannot read nosuch.csv" in refused(bound, "nosuch.csv")
    assert "not a run folder" in refused(bound, tmp_path)
    assert "neither a path nor a table" in refused(bound, 7)
    twice = pa.table([[1], [2]], names=["score", "Score"])
    assert "'score' twice" in refused(bound, twice)


def test_every_bad_cell_is_named_up_to_twenty(sheet, refused):
    told = refused(bound, sheet("real.csv", GOOD.replace("s3,0", "s3,x").replace("s7,0", "s7,y")))
    assert told.startswith("2 problems\n") and "line 5" in told and "line 9" in told
    told = refused(bound, sheet("real.csv", "scenario,score\n" + "".join(f"s{i},x\n" for i in range(1000))))
    assert told.count("\n") == 21 and told.endswith("and 980 more")


def test_a_hundred_thousand_rows_are_quick(sheet):
    real = sheet("real.csv", "scenario,score\n" + "".join(f"s{i},{i % 2}\n" for i in range(50)))
    rows = "".join(f"s{i // 2},{i % 2},{i % 2}\n" for i in range(100_000))
    sim = sheet("sim.csv", "scenario,score,trial\n" + rows)
    bound(real)  # imports are not counted
    started = time.process_time()
    assert bound(real, sim).intervals[0].n_extra == 49_950
    assert time.process_time() - started < 6.0  # nothing quadratic: that would take minutes
