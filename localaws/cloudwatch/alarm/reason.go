package alarm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// reason returns AWS's text for a change of state.
func (r *Rule) reason(from, to State, used []Datapoint, filled int) string {
	if to == Insufficient {
		return fmt.Sprintf("Insufficient Data: %s unknown.", plural(len(used), "datapoint was", "datapoints were"))
	}
	var real []Datapoint
	for _, p := range used {
		if !p.Missing {
			real = append(real, p)
		}
	}
	if len(real) == 0 {
		return fmt.Sprintf("Threshold Crossed: no datapoints were received for %s and %s treated as [%s].",
			plural(r.Periods, "period", "periods"),
			plural(filled, "missing datapoint was", "missing datapoints were"), r.treatment())
	}
	text := "Threshold Crossed: " + r.crossed(from, to, real)
	if filled > 0 {
		text += fmt.Sprintf(" and %s treated as [%s]",
			plural(filled, "missing datapoint was", "missing datapoints were"), r.treatment())
	}
	if r.ToAlarm > 0 {
		n := r.toAlarm()
		if to == OK {
			n = r.Periods - n + 1
		}
		text += fmt.Sprintf(" (minimum %s for %s -> %s transition)", plural(n, "datapoint", "datapoints"), from, to)
	}
	return text + "."
}

// crossed says which datapoints were beyond the threshold, or were not.
func (r *Rule) crossed(_, to State, real []Datapoint) string {
	var crossed []Datapoint
	for _, p := range real {
		if r.breaches(p.Value) == (to == Alarm) {
			crossed = append(crossed, p)
		}
	}
	count := plural(len(crossed), "datapoint", "datapoints")
	if r.ToAlarm > 0 {
		count = fmt.Sprintf("%d out of the last %s", len(crossed), plural(len(real), "datapoint", "datapoints"))
		if len(real) == 1 {
			count = fmt.Sprintf("%d out of the last 1 datapoints", len(crossed)) // as AWS writes it
		}
	}
	var values []string
	for _, p := range crossed {
		values = append(values, fmt.Sprintf("%s (%s)", Number(p.Value), p.At.UTC().Format("02/01/06 15:04:05")))
	}
	be := "was"
	if len(crossed) != 1 {
		be = "were"
	}
	if to == OK {
		be += " not"
	}
	return fmt.Sprintf("%s [%s] %s %s the threshold (%s)", count, strings.Join(values, ", "), be, r.operator(),
		Number(r.Threshold))
}

func (r *Rule) operator() string {
	return map[Comparison]string{
		GreaterOrEqual: "greater than or equal to", Greater: "greater than", Less: "less than",
		LessOrEqual: "less than or equal to",
	}[r.Comparison]
}

// treatment returns how AWS's texts call the treatment of missing data.
func (r *Rule) treatment() string {
	switch r.Missing {
	case TreatBreaching:
		return "Breaching"
	case TreatNotBreaching:
		return "NonBreaching"
	case TreatIgnore:
		return "Ignored"
	default:
		return "Missing"
	}
}

func plural(n int, singular, several string) string {
	if n == 1 {
		return "1 " + singular
	}
	return strconv.Itoa(n) + " " + several
}

// Number writes a number as AWS's texts do, which come from Java: with a fraction, and with an exponent from ten
// million on and below a thousandth.
func Number(x float64) string {
	if size := math.Abs(x); size != 0 && (size >= 1e7 || size < 1e-3) && !math.IsInf(x, 0) {
		text := strconv.FormatFloat(x, 'E', -1, 64)
		mantissa, exponent, _ := strings.Cut(text, "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exponent)
		return mantissa + "E" + strconv.Itoa(n)
	}
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// reasonData is the JSON of StateReasonData.
type reasonData struct {
	Version             string          `json:"version"`
	QueryDate           string          `json:"queryDate"`
	StartDate           string          `json:"startDate,omitempty"`
	Unit                string          `json:"unit,omitempty"`
	Statistic           string          `json:"statistic,omitempty"`
	Period              int             `json:"period"`
	RecentDatapoints    []javaNumber    `json:"recentDatapoints"`
	Threshold           javaNumber      `json:"threshold"`
	EvaluatedDatapoints []evaluatedData `json:"evaluatedDatapoints"`
}

type evaluatedData struct {
	Timestamp   string      `json:"timestamp"`
	SampleCount *javaNumber `json:"sampleCount,omitempty"`
	Value       *javaNumber `json:"value,omitempty"`
}

// javaNumber is a number that JSON writes with a fraction.
type javaNumber float64

func (x javaNumber) MarshalJSON() ([]byte, error) { return []byte(Number(float64(x))), nil }

// timeForm is the form of times in AWS's texts.
const timeForm = "2006-01-02T15:04:05.000-0700"

// Time writes a time as AWS's texts do.
func Time(at time.Time) string { return at.UTC().Format(timeForm) }
