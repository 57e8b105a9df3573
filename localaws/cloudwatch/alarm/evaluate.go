package alarm

import "slices"

// Verdict is the outcome of an evaluation.
type Verdict struct {
	State  State
	Reason string
	// Used are the datapoints that decided, the newest first; those that were filled in have no value.
	Used []Datapoint
}

// Evaluate evaluates the datapoints of the evaluation range, the oldest first. changed is false if the alarm keeps its
// state.
func (r *Rule) Evaluate(current State, points []Datapoint) (v Verdict, changed bool) {
	used, filled := r.choose(points)
	state := r.decide(current, points, used, filled)
	if state == current {
		return Verdict{State: current}, false
	}
	return Verdict{State: state, Reason: r.reason(current, state, used, filled), Used: used}, true
}

// choose returns the newest real datapoints, up to N, the newest first, then as many missing ones as are needed to have
// N.
func (r *Rule) choose(points []Datapoint) (used []Datapoint, filled int) {
	var missing []Datapoint
	for _, p := range slices.Backward(points) {
		switch {
		case !p.Missing && len(used) < r.Periods:
			used = append(used, p)
		case p.Missing:
			missing = append(missing, p)
		}
	}
	filled = r.Periods - len(used)
	return append(used, missing[:min(filled, len(missing))]...), filled
}

func (r *Rule) decide(current State, points, used []Datapoint, filled int) State {
	breaching, real := 0, 0
	for _, p := range used {
		if p.Missing {
			continue
		}
		real++
		if r.breaches(p.Value) {
			breaching++
		}
	}
	treat := r.Missing
	if filled == 0 {
		treat = TreatNotBreaching // nothing is treated
	}
	switch {
	case treat == TreatBreaching && breaching+filled >= r.toAlarm(), breaching >= r.toAlarm():
		return Alarm
	case treat == TreatBreaching, treat == TreatNotBreaching:
		return OK
	case real == 0 && treat == TreatIgnore:
		return current
	case real == 0:
		return Insufficient
	case breaching < real:
		return OK
	case treat == TreatIgnore:
		return current
	}
	return r.premature(current, points)
}

// premature decides about an alarm whose real datapoints all breach, but are fewer than needed. As on AWS, it becomes
// ALARM when the oldest of them is at least as old as M periods, because later data could not change that any more.
func (r *Rule) premature(current State, points []Datapoint) State {
	for i, p := range points {
		if !p.Missing {
			if len(points)-i >= r.toAlarm() {
				return Alarm
			}
			break
		}
	}
	return current
}
