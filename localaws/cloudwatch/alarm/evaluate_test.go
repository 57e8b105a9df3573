package alarm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
)

// points returns the datapoints of a text, the oldest first: 0 is within the threshold, X is beyond it, - is missing.
func points(text string) []alarm.Datapoint {
	var all []alarm.Datapoint
	for i, c := range text {
		p := alarm.Datapoint{At: time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC), Samples: 1, Missing: c == '-'}
		if c == 'X' {
			p.Value = 5
		}
		all = append(all, p)
	}
	return all
}

// TestMissingData has the tables of AWS's documentation ("Configuring how CloudWatch alarms treat missing data"). keep
// means that the alarm keeps its state.
func TestMissingData(t *testing.T) {
	const keep = "keep"
	treatments := []alarm.Missing{
		alarm.TreatMissing, alarm.TreatIgnore, alarm.TreatBreaching, alarm.TreatNotBreaching,
	}
	for _, c := range []struct {
		toAlarm int
		points  string
		want    [4]alarm.State // by treatment
	}{
		{3, "0-X-X", [4]alarm.State{"OK", "OK", "OK", "OK"}},
		{3, "----0", [4]alarm.State{"OK", "OK", "OK", "OK"}},
		{3, "-----", [4]alarm.State{"INSUFFICIENT_DATA", keep, "ALARM", "OK"}},
		{3, "0XX-X", [4]alarm.State{"ALARM", "ALARM", "ALARM", "ALARM"}},
		{3, "--X--", [4]alarm.State{"ALARM", keep, "ALARM", "OK"}},
		{3, "----X", [4]alarm.State{keep, keep, "ALARM", "OK"}},
		{2, "0-X-X", [4]alarm.State{"ALARM", "ALARM", "ALARM", "ALARM"}},
		{2, "00X0X", [4]alarm.State{"ALARM", "ALARM", "ALARM", "ALARM"}},
		{2, "0-X--", [4]alarm.State{"OK", "OK", "ALARM", "OK"}},
		{2, "----0", [4]alarm.State{"OK", "OK", "ALARM", "OK"}},
		{2, "---X-", [4]alarm.State{"ALARM", keep, "ALARM", "OK"}},
	} {
		for i, treat := range treatments {
			for _, current := range []alarm.State{alarm.OK, alarm.Alarm, alarm.Insufficient} {
				want := c.want[i]
				if want == keep {
					want = current
				}
				rule := alarm.Rule{
					Threshold: 1, Comparison: alarm.Greater, Periods: 3, ToAlarm: c.toAlarm, Missing: treat,
				}
				got, changed := rule.Evaluate(current, points(c.points))
				if got.State != want || changed != (want != current) {
					t.Errorf("%d of 3, %s, %s, from %s: %s (changed %v), want %s", c.toAlarm, c.points, treat, current,
						got.State, changed, want)
				}
			}
		}
	}
}

// TestReason has texts of AWS: recorded ones, and those of its documentation.
func TestReason(t *testing.T) {
	at := time.Date(2023, 10, 26, 16, 42, 0, 0, time.UTC)
	point := func(x float64) alarm.Datapoint { return alarm.Datapoint{At: at, Value: x, Samples: 2} }
	none := alarm.Datapoint{At: at, Missing: true}
	for _, c := range []struct {
		rule   alarm.Rule
		from   alarm.State
		points []alarm.Datapoint
		want   string
	}{
		{
			alarm.Rule{Threshold: 2, Comparison: alarm.Greater, Periods: 1},
			alarm.Insufficient,
			[]alarm.Datapoint{point(21.5)},
			"Threshold Crossed: 1 datapoint [21.5 (26/10/23 16:42:00)] was greater than the threshold (2.0).",
		},
		{
			alarm.Rule{Threshold: 50, Comparison: alarm.Greater, Periods: 1, ToAlarm: 1},
			alarm.OK,
			[]alarm.Datapoint{point(99.5)},
			"Threshold Crossed: 1 out of the last 1 datapoints [99.5 (26/10/23 16:42:00)] was greater than the " +
				"threshold (50.0) (minimum 1 datapoint for OK -> ALARM transition).",
		},
		{
			alarm.Rule{Threshold: 50, Comparison: alarm.Greater, Periods: 1, ToAlarm: 1},
			alarm.Alarm,
			[]alarm.Datapoint{point(0.5)},
			"Threshold Crossed: 1 out of the last 1 datapoints [0.5 (26/10/23 16:42:00)] was not greater than the " +
				"threshold (50.0) (minimum 1 datapoint for ALARM -> OK transition).",
		},
		{
			alarm.Rule{Comparison: alarm.Greater, Periods: 2, Missing: alarm.TreatBreaching},
			alarm.Insufficient,
			[]alarm.Datapoint{none, none, none, none},
			"Threshold Crossed: no datapoints were received for 2 periods and 2 missing datapoints were treated as " +
				"[Breaching].",
		},
		{
			alarm.Rule{Comparison: alarm.Greater, Periods: 1, Missing: alarm.TreatNotBreaching},
			alarm.Alarm,
			[]alarm.Datapoint{none, none, none},
			"Threshold Crossed: no datapoints were received for 1 period and 1 missing datapoint was treated as " +
				"[NonBreaching].",
		},
		{
			alarm.Rule{Comparison: alarm.Greater, Periods: 1},
			alarm.OK,
			[]alarm.Datapoint{none, none, none},
			"Insufficient Data: 1 datapoint was unknown.",
		},
	} {
		got, _ := c.rule.Evaluate(c.from, c.points)
		if got.Reason != c.want {
			t.Errorf("got  %s\nwant %s", got.Reason, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.0", 2: "2.0", 21.5: "21.5", -3: "-3.0", 1e7: "1.0E7", 12_345_678: "1.2345678E7", 0.0001: "1.0E-4",
		9_999_999: "9999999.0",
	} {
		if got := alarm.Number(x); got != want {
			t.Errorf("%v is written %s, want %s", fmt.Sprint(x), got, want)
		}
	}
}
