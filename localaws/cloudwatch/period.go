package cloudwatch

import (
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// checkPeriod checks a period in seconds.
func checkPeriod(seconds int32, path string) *wire.Error {
	switch {
	case seconds == 1 || seconds == 5 || seconds == 10 || seconds == 20 || seconds == 30:
		return nil
	case seconds <= 0 || seconds%60 != 0:
		return invalidValue("The parameter %s must be 1, 5, 10, 20, 30 or a multiple of 60.", path)
	case seconds > maxPeriod:
		return invalidValue("The parameter %s must be at most %d.", path, maxPeriod)
	}
	return nil
}

// maxPeriod is the longest period: a week, as alarms may have.
const maxPeriod = 7 * 86_400

// begin rounds a start time down as CloudWatch does: to the period if it is short, otherwise to a minute, and to five
// minutes or an hour if the time is so long ago that only such points exist.
func begin(start, now time.Time, period time.Duration) time.Time {
	unit := time.Minute
	switch age := now.Sub(start); {
	case period < time.Minute:
		unit = period
	case age > 63*24*time.Hour:
		unit = time.Hour
	case age > 15*24*time.Hour:
		unit = 5 * time.Minute
	}
	return start.UTC().Truncate(unit)
}
