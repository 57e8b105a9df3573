package client

import (
	"errors"
	"net/http"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/godwitmq/godwit/driver"
)

// Ahead is how far the clock of this machine is ahead of the service's, by the time in an answer, which has whole
// seconds.
func Ahead(answer middleware.Metadata) driver.Reading[time.Duration] {
	there, told := awsmiddleware.GetServerTime(answer)
	here, known := awsmiddleware.GetResponseAt(answer)
	if !told || !known {
		return driver.Reading[time.Duration]{Err: NotFound("the service's answer has no time")}
	}
	return driver.Reading[time.Duration]{Value: here.Sub(there).Truncate(time.Second)}
}

// TimeOf is the time in an answer, which has whole seconds.
func TimeOf(answer middleware.Metadata) (time.Time, error) {
	there, told := awsmiddleware.GetServerTime(answer)
	if !told {
		return there, Permanent("the service's answer has no time: schedules need its header Date")
	}
	return there, nil
}

// TimeOfError is the time in an answer that is an error, or that error.
func TimeOfError(err error) (time.Time, error) {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil {
		if there, wrong := http.ParseTime(answer.Response.Header.Get("Date")); wrong == nil {
			return there, nil
		}
	}
	return time.Time{}, Classify(err)
}

// AheadOfError is Ahead of an answer that is an error and has just arrived.
func AheadOfError(err error, now time.Time) driver.Reading[time.Duration] {
	there, wrong := TimeOfError(err)
	if wrong != nil {
		return driver.Reading[time.Duration]{Err: NotFound("the service's answer has no time")}
	}
	return driver.Reading[time.Duration]{Value: now.Sub(there).Truncate(time.Second)}
}
