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

// AheadOfError is the same of an answer that is an error and has just arrived.
func AheadOfError(err error, now time.Time) driver.Reading[time.Duration] {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil {
		if there, wrong := http.ParseTime(answer.Response.Header.Get("Date")); wrong == nil {
			return driver.Reading[time.Duration]{Value: now.Sub(there).Truncate(time.Second)}
		}
	}
	return driver.Reading[time.Duration]{Err: NotFound("the service's answer has no time")}
}
