package wire

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// timeOf returns the time of a number of seconds since 1970, to the millisecond, as AWS keeps it.
func timeOf(seconds float64) time.Time {
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(math.Round(fraction*1000))*int64(time.Millisecond)).UTC()
}

// secondsOf returns the number of seconds since 1970, to the millisecond.
func secondsOf(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// parseTime parses a timestamp of the query protocol: ISO 8601 with or without a zone, or seconds since 1970.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z", "2006-01-02",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > maxSeconds {
		return time.Time{}, fmt.Errorf("%q is not a timestamp", text)
	}
	return timeOf(seconds), nil
}

// maxSeconds bounds timestamps, so that they can be converted: the year 9999.
const maxSeconds = 253_402_300_799
