package cron

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Expression is a parsed expression. It is safe for concurrent use.
type Expression struct {
	minute, hour, day, month, weekday field
	anyDay, anyWeekday                bool // the field is *
}

// field has a bit for each value.
type field uint64

func (f field) has(value int) bool { return f>>value&1 == 1 }

// kind is what the values of a field are. Names begin with the lowest value. A * ends with last.
type kind struct {
	name           string
	min, max, last int
	names          []string
}

var (
	minutes  = kind{name: "minute", max: 59, last: 59}
	hours    = kind{name: "hour", max: 23, last: 23}
	days     = kind{name: "day of the month", min: 1, max: 31, last: 31}
	months   = kind{"month", 1, 12, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")}
	weekdays = kind{"day of the week", 0, 7, 6, strings.Fields("sun mon tue wed thu fri sat sun")}
)

// everyHour is the hours of *.
const everyHour field = 1<<24 - 1

// farthest bounds the search for a time: February 29 is up to eight years away.
const farthest = 9

// Parse reads minute, hour, day of the month, month and day of the week: *, numbers, names (jan, mon), ranges, steps
// (*/5) and lists of these; or @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually. Sunday is 0 or 7. An
// expression that names no time is an error.
func Parse(text string) (*Expression, error) {
	fields := strings.Fields(text)
	if long, short := map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}[strings.ToLower(text)]; short {
		fields = strings.Fields(long)
	}
	if len(fields) != 5 {
		return nil, fmt.Errorf("it has %d fields, and needs five (minute, hour, day of the month, month, day of the week), "+
			"or one of @hourly, @daily, @weekly, @monthly and @yearly", len(fields))
	}
	e := &Expression{anyDay: fields[2] == "*", anyWeekday: fields[4] == "*"}
	into := []*field{&e.minute, &e.hour, &e.day, &e.month, &e.weekday}
	for i, k := range []kind{minutes, hours, days, months, weekdays} {
		var err error
		if *into[i], err = k.parse(fields[i]); err != nil {
			return nil, fmt.Errorf("%s %q: %w", k.name, fields[i], err)
		}
	}
	e.weekday |= e.weekday>>7 | e.weekday&1<<7 // Sunday has both values
	if e.next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, errors.New("it names no time: none of its months has this day")
	}
	return e, nil
}

func (k kind) parse(text string) (f field, err error) {
	for item := range strings.SplitSeq(text, ",") {
		span, steps, stepped := strings.Cut(item, "/")
		from, to, step := k.min, k.last, 1
		if stepped {
			if step, err = (kind{min: 1, max: k.max}).value(steps, 1); err != nil {
				return 0, fmt.Errorf("the step %w", err)
			}
		}
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if from, err = k.value(first, k.min); err != nil {
				return 0, err
			}
			if ranged {
				to, err = k.value(last, max(k.min, 1))
			} else if !stepped {
				to = from
			}
			if err != nil {
				return 0, err
			}
		}
		if from > to {
			return 0, fmt.Errorf("the range %q goes down: begin with its lower end", span)
		}
		for v := from; v <= to; v += step {
			f |= 1 << v
		}
	}
	return f, nil
}

// value is a number or a name. A name that two values have, as sun, is that of the first from a value on.
func (k kind) value(text string, from int) (int, error) {
	for i, name := range k.names {
		if k.min+i >= from && strings.EqualFold(name, text) {
			return k.min + i, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < k.min || v > k.max || text[0] == '+' {
		return 0, fmt.Errorf("%q must be a number from %d to %d", text, k.min, k.max)
	}
	return v, nil
}

// Next returns the first time after another one; zero: there is none. A time that the zone's clocks skip is the end of
// the gap, once for all such times. Of a time that they show twice, only the first one counts. If the hour is *, what
// the clocks show counts instead, so that such an expression does not pause for the hour that comes twice.
func (e *Expression) Next(after time.Time, zone *time.Location) time.Time {
	t := after.In(zone)
	wall := shown(t)
	for {
		begin, end := t.ZoneBounds()
		if e.hour == everyHour {
			begin = time.Time{}
		} else if before := shown(begin.Add(-1)); !begin.IsZero() && before.After(wall) {
			wall = before // earlier times have had their turn before the clocks were changed
		}
		next := e.next(wall)
		at := next.Add(t.Sub(shown(t)))
		switch {
		case next.IsZero():
			return next
		case at.Before(begin):
			return begin
		case end.IsZero() || at.Before(end):
			return at.In(zone)
		}
		if t, wall = end, shown(end.Add(-1)); e.hour == everyHour {
			wall = shown(end).Add(-1)
		}
	}
}

// shown is what a clock of the time's zone shows, as a time without a zone.
func shown(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// next is the first time after another one, without a zone; zero: there is none.
func (e *Expression) next(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	for limit := t.AddDate(farthest, 0, 0); t.Before(limit); {
		switch {
		case !e.month.has(int(t.Month())):
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !e.on(t):
			t = t.Truncate(24*time.Hour).AddDate(0, 0, 1)
		case !e.hour.has(t.Hour()):
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !e.minute.has(t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

// on reports whether a day counts. If neither of both fields is *, one of them suffices, as in crontab.
func (e *Expression) on(t time.Time) bool {
	day, weekday := e.day.has(t.Day()), e.weekday.has(int(t.Weekday()))
	return day && weekday || (day || weekday) && !e.anyDay && !e.anyWeekday
}
