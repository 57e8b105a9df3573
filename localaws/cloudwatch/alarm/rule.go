package alarm

import "time"

// State is the state of an alarm.
type State string

// The states of an alarm.
const (
	OK           State = "OK"
	Alarm        State = "ALARM"
	Insufficient State = "INSUFFICIENT_DATA"
)

// Missing is how an alarm treats periods without data.
type Missing string

// The treatments of periods without data.
const (
	TreatMissing      Missing = "missing" // the default
	TreatIgnore       Missing = "ignore"
	TreatBreaching    Missing = "breaching"
	TreatNotBreaching Missing = "notBreaching"
)

// Comparison is the operator between a value and the threshold.
type Comparison string

// The operators.
const (
	GreaterOrEqual Comparison = "GreaterThanOrEqualToThreshold"
	Greater        Comparison = "GreaterThanThreshold"
	Less           Comparison = "LessThanThreshold"
	LessOrEqual    Comparison = "LessThanOrEqualToThreshold"
)

// Rule is what an alarm compares.
type Rule struct {
	Threshold  float64
	Comparison Comparison
	Periods    int     // N: the periods that are evaluated
	ToAlarm    int     // M: the breaching periods that make an alarm; 0: all N
	Missing    Missing // "": TreatMissing
}

// extra is the number of periods of the evaluation range beyond N. AWS does not publish its number; its documentation
// explains three periods with a range of five.
const extra = 2

// Range returns the number of periods of the evaluation range.
func (r *Rule) Range() int { return r.Periods + extra }

// Datapoint is one period of the evaluation range.
type Datapoint struct {
	At      time.Time
	Missing bool
	Value   float64
	Samples float64
}

func (r *Rule) toAlarm() int {
	if r.ToAlarm == 0 {
		return r.Periods
	}
	return r.ToAlarm
}

func (r *Rule) breaches(x float64) bool {
	switch r.Comparison {
	case GreaterOrEqual:
		return x >= r.Threshold
	case Greater:
		return x > r.Threshold
	case Less:
		return x < r.Threshold
	default:
		return x <= r.Threshold
	}
}
