package cron

import (
	_ "embed"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests
)

//go:embed testdata/cases.txt
var cases string

// Next agrees with croniter, a library of Python, in 1,000 cases; testdata/cases.py has written them.
func TestNextAsCroniter(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(cases), "\n")
	if len(lines) != 1000 {
		t.Fatalf("%d cases", len(lines))
	}
	for _, line := range lines {
		parts := strings.Split(line, "\t")
		e, err := Parse(parts[0])
		if err != nil {
			t.Errorf("%s: %v", parts[0], err)
			continue
		}
		at := parts[1]
		for _, want := range parts[2:] {
			after, err := time.Parse("2006-01-02T15:04:05", at)
			if err != nil {
				t.Fatal(err)
			}
			if at = e.Next(after, time.UTC).Format("2006-01-02T15:04:05"); at != want {
				t.Errorf("%s: after %v comes %s, want %s", parts[0], after, at, want)
				break
			}
		}
	}
}

// A time in a gap of daylight saving is its end, and one that is shown twice counts once.
func TestDaylightSaving(t *testing.T) {
	for _, c := range []struct{ expression, zone, after, want string }{
		// Berlin skips 02:00 to 03:00 on March 28, 2027, and shows 02:00 to 03:00 twice on October 31.
		{"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00Z", "2027-03-28T03:00+02:00 2027-03-29T02:30+02:00"},
		{"0,30 2 * * *", "Europe/Berlin", "2027-03-27T12:00Z", "2027-03-28T03:00+02:00 2027-03-29T02:00+02:00"},
		{"30 2,3 * * *", "Europe/Berlin", "2027-03-27T12:00Z", "2027-03-28T03:00+02:00 2027-03-28T03:30+02:00"},
		{"0 3 * * *", "Europe/Berlin", "2027-03-27T12:00Z", "2027-03-28T03:00+02:00 2027-03-29T03:00+02:00"},
		{
			"30 1-3 * * *", "Europe/Berlin", "2027-03-28T00:00Z",
			"2027-03-28T01:30+01:00 2027-03-28T03:00+02:00 2027-03-28T03:30+02:00 2027-03-29T01:30+02:00",
		},
		{"30 2 * * *", "Europe/Berlin", "2027-10-30T12:00Z", "2027-10-31T02:30+02:00 2027-11-01T02:30+01:00"},
		{
			"*/20 2 * * *", "Europe/Berlin", "2027-10-30T12:00Z",
			"2027-10-31T02:00+02:00 2027-10-31T02:20+02:00 2027-10-31T02:40+02:00 2027-11-01T02:00+01:00",
		},
		// From within the second of both hours.
		{"30 2 * * *", "Europe/Berlin", "2027-10-31T01:10Z", "2027-11-01T02:30+01:00"},
		{"0 3 * * *", "Europe/Berlin", "2027-10-31T00:59Z", "2027-10-31T03:00+01:00 2027-11-01T03:00+01:00"},
		// With every hour, what the clocks show counts.
		{
			"30 * * * *", "Europe/Berlin", "2027-03-28T00:00Z",
			"2027-03-28T01:30+01:00 2027-03-28T03:30+02:00 2027-03-28T04:30+02:00",
		},
		{
			"30 * * * *", "Europe/Berlin", "2027-10-30T23:45Z",
			"2027-10-31T02:30+02:00 2027-10-31T02:30+01:00 2027-10-31T03:30+01:00",
		},
		// Lord Howe changes by half an hour; clocks of Cairo skip midnight, and with it the begin of a day.
		{
			"15 2 * * *", "Australia/Lord_Howe", "2027-10-02T00:00Z",
			"2027-10-03T02:30+11:00 2027-10-04T02:15+11:00",
		},
		{"0 0 * * *", "Africa/Cairo", "2027-04-29T12:00Z", "2027-04-30T01:00+03:00 2027-05-01T00:00+03:00"},
		{"0 0 30 4 *", "Africa/Cairo", "2027-04-01T12:00Z", "2027-04-30T01:00+03:00"},
		// Samoa left out a day.
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00Z", "2011-12-31T00:00+14:00 2012-12-30T12:00+14:00"},
		{"0 0 29 2 *", "Asia/Tokyo", "2096-03-01T00:00Z", "2104-02-29T00:00+09:00"},
	} {
		e, err := Parse(c.expression)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse("2006-01-02T15:04Z", c.after)
		if err != nil {
			t.Fatal(err)
		}
		for want := range strings.FieldsSeq(c.want) {
			at = e.Next(at, zone)
			if is := at.Format("2006-01-02T15:04-07:00"); is != want {
				t.Errorf("%s in %s after %s: %s, want %s", c.expression, c.zone, c.after, is, want)
			}
		}
	}
}

// An expression that cannot be read, or names no time, is an error that says why.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                "0 fields",
		"* * * *":         "4 fields",
		"* * * * * *":     "6 fields",
		"@often":          "@hourly",
		"60 * * * *":      "from 0 to 59",
		"* 24 * * *":      "from 0 to 23",
		"* * 0 * *":       "from 1 to 31",
		"* * * 13 *":      "from 1 to 12",
		"* * * * 8":       "from 0 to 7",
		"* * * mon *":     "from 1 to 12",
		"5-1 * * * *":     "goes down",
		"* * * * sat-mon": "goes down",
		"*/0 * * * *":     "step",
		"*/x * * * *":     "step",
		"1,,2 * * * *":    `""`,
		"-1 * * * *":      `""`,
		"+1 * * * *":      `"+1"`,
		"* * L * *":       `"L"`,
		"0 0 30 2 *":      "names no time",
		"0 0 31 4,6,9 *":  "names no time",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
	for _, text := range []string{"0 0 * * 7", "0 0 * * fri-sun", "0 0 * * SUN", "5/20 * * * *", "0 0 30 2 mon"} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever can be parsed has a next time, which is later, and on a whole minute.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"* * * * *", "*/5 1-3,7 29 feb mon-fri/2", "@weekly", "0 0 * * 7", "0 0 30 2 *"} {
		f.Add(text, int64(1_800_000_000), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, second int64, in uint8) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"}
		zone, err := time.LoadLocation(zones[int(in)%len(zones)])
		if err != nil {
			t.Fatal(err)
		}
		after := time.Unix(second%4_000_000_000, 0)
		for range 3 {
			next := e.Next(after, zone)
			if !next.After(after) || next.Second() != 0 || next.Sub(after) > farthest*366*24*time.Hour {
				t.Fatalf("%q in %v: after %v comes %v", text, zone, after, next)
			}
			after = next
		}
	})
}
