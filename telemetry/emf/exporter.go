package emf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	defaultNamespace = "Godwit"
	// maxDimensions is how many dimensions CloudWatch accepts for a metric.
	maxDimensions = 30
	// ownDimensions is how many of them are left to the attributes of measurements.
	ownDimensions = 10
)

// legalNamespace is the names that CloudWatch accepts for namespaces.
var legalNamespace = regexp.MustCompile(`^[0-9A-Za-z._/#:-]{1,255}$`)

// Options of an exporter. The zero value is good for most.
type Options struct {
	// Namespace is the metrics' namespace in CloudWatch; "": Godwit. Set it to distinguish systems that share an
	// account.
	Namespace string
	// Dimensions are added to those of every metric, by their names. Set them for what distinguishes programs, such as
	// a service or a stage; each combination of values is a metric that CloudWatch bills.
	Dimensions map[string]string
}

// Exporter writes metrics in the embedded metric format. It is safe for concurrent use.
type Exporter struct {
	o Options

	mu   sync.Mutex
	w    io.Writer
	down bool
}

var _ metric.Exporter = (*Exporter)(nil)

// New makes an exporter that writes to w, each event in one call of Write.
func New(w io.Writer, o *Options) (*Exporter, error) {
	e := &Exporter{w: w, o: Options{Namespace: defaultNamespace}}
	if o != nil {
		e.o.Dimensions = maps.Clone(o.Dimensions)
		if o.Namespace != "" {
			e.o.Namespace = o.Namespace
		}
	}
	switch {
	case w == nil:
		return nil, errors.New("emf: the writer is nil: use os.Stdout, or the file that the CloudWatch agent reads")
	case !legalNamespace.MatchString(e.o.Namespace):
		return nil, fmt.Errorf("emf: Options.Namespace is %q: use 1 to 255 letters, digits and the characters . _ / # : -",
			e.o.Namespace)
	case strings.HasPrefix(e.o.Namespace, "AWS/"):
		return nil, fmt.Errorf("emf: Options.Namespace is %q: names that begin with AWS/ are those of AWS's services",
			e.o.Namespace)
	case len(e.o.Dimensions) > maxDimensions-ownDimensions:
		return nil, fmt.Errorf("emf: Options.Dimensions has %d entries: use at most %d, because CloudWatch accepts %d with "+
			"those of the metrics", len(e.o.Dimensions), maxDimensions-ownDimensions, maxDimensions)
	}
	for name, value := range e.o.Dimensions {
		if err := checkDimension(name, value); err != nil {
			return nil, fmt.Errorf("emf: Options.Dimensions: %w", err)
		}
	}
	return e, nil
}

// Temporality implements metric.Exporter: CloudWatch adds up what each line reports.
func (*Exporter) Temporality(kind metric.InstrumentKind) metricdata.Temporality {
	return metric.DeltaTemporalitySelector(kind)
}

// Aggregation implements metric.Exporter.
func (*Exporter) Aggregation(kind metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(kind)
}

// Export implements metric.Exporter. Values that CloudWatch does not know, such as NaN, are left out, and named by the
// error.
func (e *Exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return metric.ErrExporterShutdown
	}
	events, bad := collect(rm, e.o.Dimensions)
	for _, event := range events {
		line, err := event.line(e.o.Namespace)
		if err != nil {
			return errors.Join(bad, err)
		}
		if ctx.Err() != nil {
			return errors.Join(bad, fmt.Errorf("emf: write metrics: %w", context.Cause(ctx)))
		}
		if _, err := e.w.Write(line); err != nil {
			return errors.Join(bad, fmt.Errorf("emf: write metrics: %w", err))
		}
	}
	return bad
}

// ForceFlush implements metric.Exporter. Nothing is buffered.
func (*Exporter) ForceFlush(context.Context) error { return nil }

// Shutdown implements metric.Exporter. It does not close the writer.
func (e *Exporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return metric.ErrExporterShutdown
	}
	e.down = true
	return nil
}
