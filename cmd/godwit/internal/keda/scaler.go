package keda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/godwitmq/godwit/cmd/godwit/internal/externalscaler"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// The metadata of a trigger. All but the channel replace the options of the scaler.
const (
	metaChannel     = "channel"
	metaServiceTime = "serviceTime"
	metaTolerance   = "tolerance"
	metaWorkers     = "workers"
	metaMost        = "most"
	// metaAddress is KEDA's own, and is passed on.
	metaAddress = "scalerAddress"
)

const (
	// metric is the name of the only metric: how many processes a channel needs.
	metric = "consumers"
	// lookEvery is how often a stream looks at its channel.
	lookEvery = 10 * time.Second
)

// Scaler implements KEDA's external scaler. It is safe for concurrent use.
type Scaler struct {
	externalscaler.UnimplementedExternalScalerServer
	b driver.Backend
	o ops.DemandOptions
}

// New returns a scaler for the channels of a backend.
func New(b driver.Backend, o ops.DemandOptions) *Scaler { return &Scaler{b: b, o: o} }

// IsActive reports whether anything waits or is in flight.
func (s *Scaler) IsActive(
	ctx context.Context, r *externalscaler.ScaledObjectRef,
) (*externalscaler.IsActiveResponse, error) {
	n, err := s.consumers(ctx, r)
	if err != nil {
		return nil, err
	}
	return &externalscaler.IsActiveResponse{Result: n > 0}, nil
}

// StreamIsActive reports it at once, and whenever it changes. A look that fails for the moment changes nothing.
func (s *Scaler) StreamIsActive(
	r *externalscaler.ScaledObjectRef, to externalscaler.ExternalScaler_StreamIsActiveServer,
) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for told, before := false, false; ; {
		switch n, err := s.consumers(to.Context(), r); {
		case status.Code(err) == codes.Unavailable && to.Context().Err() == nil:
		case err != nil:
			return err
		case !told || n > 0 != before:
			told, before = true, n > 0
			if err := to.Send(&externalscaler.IsActiveResponse{Result: before}); err != nil {
				return err
			}
		}
		select {
		case <-to.Context().Done():
			return status.FromContextError(to.Context().Err()).Err()
		case <-look.C:
		}
	}
}

// GetMetricSpec says that one process is needed for each unit of the metric.
func (s *Scaler) GetMetricSpec(
	_ context.Context, r *externalscaler.ScaledObjectRef,
) (*externalscaler.GetMetricSpecResponse, error) {
	if _, _, err := s.options(r); err != nil {
		return nil, err
	}
	return &externalscaler.GetMetricSpecResponse{MetricSpecs: []*externalscaler.MetricSpec{
		{MetricName: metric, TargetSize: 1, TargetSizeFloat: 1},
	}}, nil
}

// GetMetrics returns how many processes the channel needs.
func (s *Scaler) GetMetrics(
	ctx context.Context, r *externalscaler.GetMetricsRequest,
) (*externalscaler.GetMetricsResponse, error) {
	n, err := s.consumers(ctx, r.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	return &externalscaler.GetMetricsResponse{MetricValues: []*externalscaler.MetricValue{
		{MetricName: metric, MetricValue: int64(n), MetricValueFloat: float64(n)},
	}}, nil
}

// consumers returns how many processes the channel of a trigger needs. What could not be looked at is an error, so that
// KEDA keeps its number, or uses the fallback of the ScaledObject.
func (s *Scaler) consumers(ctx context.Context, r *externalscaler.ScaledObjectRef) (int, error) {
	channel, o, err := s.options(r)
	if err != nil {
		return 0, err
	}
	d, err := ops.DemandOf(ctx, s.b, channel, &o)
	switch {
	case err == nil:
		return d.Consumers, nil
	case ctx.Err() != nil:
		return 0, status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, ops.ErrNoConsumers):
		return 0, status.Error(codes.InvalidArgument, err.Error())
	case driver.ClassOf(err) == driver.NotFound:
		return 0, status.Error(codes.NotFound, err.Error())
	}
	return 0, status.Error(codes.Unavailable, err.Error())
}

// options are the channel and the options of a trigger.
func (s *Scaler) options(r *externalscaler.ScaledObjectRef) (channel string, o ops.DemandOptions, err error) {
	o = s.o
	set := map[string]func(value string) error{
		metaAddress:     func(string) error { return nil },
		metaChannel:     func(value string) error { channel = value; return nil },
		metaServiceTime: func(value string) (err error) { o.ServiceTime, err = time.ParseDuration(value); return err },
		metaTolerance:   func(value string) (err error) { o.Tolerance, err = time.ParseDuration(value); return err },
		metaWorkers:     func(value string) (err error) { o.Workers, err = strconv.Atoi(value); return err },
		metaMost:        func(value string) (err error) { o.Most, err = strconv.Atoi(value); return err },
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(r.GetScalerMetadata())) {
		value := r.GetScalerMetadata()[key]
		f, known := set[key]
		if !known {
			names := strings.Join(slices.Sorted(maps.Keys(set)), ", ")
			errs = append(errs, fmt.Errorf("the metadata has %s, which is none of %s", key, names))
		} else if err := f(value); err != nil {
			errs = append(errs, fmt.Errorf("the metadata's %s is %q: %w", key, value, err))
		}
	}
	if channel == "" {
		errs = append(errs, fmt.Errorf("the metadata has no %s: name one, such as orders", metaChannel))
	}
	if o.ServiceTime < 0 || o.Tolerance < 0 || o.Workers < 0 || o.Most < 0 {
		errs = append(errs, fmt.Errorf("the metadata has %s %v, %s %v, %s %d and %s %d: none can be negative",
			metaServiceTime, o.ServiceTime, metaTolerance, o.Tolerance, metaWorkers, o.Workers, metaMost, o.Most))
	}
	if len(errs) > 0 {
		return "", o, status.Error(codes.InvalidArgument, errors.Join(errs...).Error())
	}
	return channel, o, nil
}
