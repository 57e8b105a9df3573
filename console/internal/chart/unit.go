package chart

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A Unit says what the values of a chart are, and so how they are written.
type Unit int

// The units of values.
const (
	Count   Unit = iota // 12.4k
	Rate                // per second: 12.4k/s
	Seconds             // 3m20s
	Bytes               // 1.5 KiB
	Dollars             // $12.40
)

// format writes a value for people.
func (u Unit) format(v float64) string {
	if !known(v) {
		return "unknown"
	}
	switch u {
	case Rate:
		return short(v) + "/s"
	case Seconds:
		return age(seconds(v))
	case Bytes:
		return size(v)
	case Dollars:
		return money(v)
	default:
		return short(v)
	}
}

// between writes the range of values that are drawn as one.
func (u Unit) between(low, high float64) string {
	a, b := u.format(low), u.format(high)
	if a == b {
		return a
	}
	return a + " to " + b
}

// seconds is the duration of a number of seconds; the longest is about 290 years.
func seconds(v float64) time.Duration {
	if v >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(v * float64(time.Second))
}

// short writes a number with three digits.
func short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.005:
		return "<0.01"
	}
	prefix := 0
	for v >= 999.5 && prefix < len(prefixes)-1 {
		v, prefix = v/1000, prefix+1
	}
	return threeDigits(v) + prefixes[prefix]
}

var prefixes = [...]string{"", "k", "M", "G", "T", "P"}

// threeDigits writes a number below 1,000 without zeros at the end.
func threeDigits(v float64) string {
	decimals := 0
	switch {
	case v < 9.995:
		decimals = 2
	case v < 99.95:
		decimals = 1
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func size(v float64) string {
	prefix := 0
	for v >= 1023.5 && prefix < len(sizes)-1 {
		v, prefix = v/1024, prefix+1
	}
	if v >= 999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64) + " " + sizes[prefix]
	}
	return threeDigits(v) + " " + sizes[prefix]
}

var sizes = [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}

func money(v float64) string {
	switch {
	case v == 0:
		return "$0"
	case v < 0.005:
		return "<$0.01"
	case v < 999.995:
		return "$" + strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return "$" + short(v)
	}
}

// age writes a duration with its largest unit, and with the next one below 10 of the largest.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "unknown"
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return strconv.FormatInt(int64(d/time.Millisecond), 10) + "ms"
	case d < 10*time.Second:
		return threeDigits(math.Floor(d.Seconds()*10)/10) + "s"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	case d < time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	default:
		return twoUnits(d, day, "d", time.Hour, "h")
	}
}

const day = 24 * time.Hour

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	n := int64(d / large)
	s := strconv.FormatInt(n, 10) + largeName
	if rest := int64(d % large / small); n < 10 && rest > 0 {
		s += strconv.FormatInt(rest, 10) + smallName
	}
	return s
}

// ticks returns the distance of the lines of a grid for values up to high, and the value at the upper edge.
func (u Unit) ticks(high float64) (step, top float64) {
	if high <= 0 {
		return 1, 1
	}
	raw := max(high, 1e-6) / 4
	switch u {
	case Seconds:
		step = roundSeconds(max(raw, 0.001)) // shorter times are all written alike
	case Bytes:
		step = math.Exp2(math.Ceil(math.Log2(max(raw, 1))))
	case Count:
		step = max(1, round(raw))
	default:
		step = round(raw)
	}
	return step, math.Ceil(high/step*0.9999) * step
}

// round returns the next number above raw that begins with 1, 2 or 5 and ends with zeros.
func round(raw float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, digit := range [...]float64{1, 2, 5} {
		if digit*base >= raw*0.9999 {
			return digit * base
		}
	}
	return 10 * base
}

// roundSeconds returns the next duration above raw that clocks and calendars have.
func roundSeconds(raw float64) float64 {
	if raw < 1 {
		return round(raw)
	}
	for _, s := range distances {
		if s.Seconds() >= raw*0.9999 {
			return s.Seconds()
		}
	}
	return round(raw/day.Seconds()) * day.Seconds()
}

// distances are the distances between the lines of a grid over time.
var distances = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day,
}
