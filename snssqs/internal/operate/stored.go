package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// bucketMetrics are the metrics of S3.
const bucketMetrics = "AWS/S3"

// storedWithin is how old the last count of a bucket may be: S3 counts once a day, some hours late.
const storedWithin = 3 * 24 * time.Hour

// Stored is driver.Operations.Stored of a bucket: S3 counts its objects once a day, and requests only where somebody
// has switched that on for the whole bucket, as the filter EntireBucket.
func Stored(ctx context.Context, e *estate.Estate, bucket string, since time.Time) (driver.Stored, error) {
	if err := e.Clients.Open(); err != nil {
		return driver.Stored{}, err
	}
	now := time.Now()
	period := periodFor(now.Sub(since))
	s := driver.Stored{Name: bucket, Since: since.Truncate(period), Until: now.Truncate(time.Minute)}
	of := func(dimension, value string) meteredResource {
		return meteredResource{
			namespace: bucketMetrics, dimension: "BucketName", name: bucket, kind: dimension, value: value,
		}
	}
	const daily = 24 * time.Hour
	sizes := metricData(ctx, e, "", []metricQuery{
		{of("StorageType", "AllStorageTypes"), "NumberOfObjects", "Average", daily},
		{of("StorageType", "StandardStorage"), "BucketSizeBytes", "Average", daily},
	}, now.Add(-storedWithin).Truncate(daily), now)
	requests := metricData(ctx, e, "", []metricQuery{
		{of("FilterId", "EntireBucket"), "PutRequests", "Sum", period},
		{of("FilterId", "EntireBucket"), "GetRequests", "Sum", period},
	}, s.Since, now.Truncate(time.Minute).Add(time.Minute))
	for i, to := range []*driver.Reading[int64]{&s.Objects, &s.Bytes} {
		*to = countOf(&sizes[i], func(a *metricAnswer) float64 { return a.values[0] })
	}
	for i, to := range []*driver.Reading[int64]{&s.Puts, &s.Gets} {
		*to = countOf(&requests[i], (*metricAnswer).sum)
	}
	return s, ctx.Err()
}

// countOf is what an answer says; without points, nothing is known.
func countOf(a *metricAnswer, of func(*metricAnswer) float64) (r driver.Reading[int64]) {
	switch {
	case a.err != nil:
		r.Err = a.err
	case len(a.values) == 0:
		r.Err = &driver.Error{
			Class: driver.NotFound, Err: fmt.Errorf("read a metric of the bucket: %w", errNoPoints),
		}
	default:
		r.Value = int64(of(a))
	}
	return r
}

var errNoPoints = errors.New("CloudWatch has none: S3 counts objects once a day, and requests where that is switched on")
