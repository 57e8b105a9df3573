package localaws

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// requestLog writes one line for each call from a socket: its action, resource, status and time, and its account and
// region if they are not those of the options. The zero value writes nothing.
type requestLog struct {
	to   *slog.Logger
	home wire.Place // other places are named in the lines
}

// noteKey is the key of a note in a call's context.
type noteKey struct{}

// note is what becomes known of a call while it is handled.
type note struct {
	action, resource string
	at               wire.Place // of the caller
}

// handle handles a request, and writes its line.
func (l requestLog) handle(w http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
	if l.to == nil {
		handler(w, r)
		return
	}
	// A request that names no action of the server is in the log by its method and path.
	n := &note{action: r.Method, resource: r.URL.Path}
	began, status := time.Now(), &statusWriter{ResponseWriter: w}
	defer func() { // also if a control drops the connection, which is a panic
		said := []any{"action", n.action, "resource", n.resource}
		if n.at.Account != "" && n.at != l.home {
			said = append(said, "account", n.at.Account, "region", n.at.Region)
		}
		l.to.Info("call", append(said, "status", status.code, "took", time.Since(began).Round(time.Microsecond))...)
	}()
	handler(status, r.WithContext(context.WithValue(r.Context(), noteKey{}, n)))
}

// noteCall adds the action and the resource to the note of a call.
func noteCall(ctx context.Context, c *wire.Call, in any) {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		n.action, n.resource, n.at = c.Service+"."+c.Action, resourceOf(in), c.Place()
	}
}

// resourceOf returns what a call is about: the first of the usual members that its input has, and of an object its key.
func resourceOf(in any) string {
	v := reflect.ValueOf(in)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return ""
	}
	text := func(name string) string {
		f := v.FieldByName(name)
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		if f.Kind() == reflect.String {
			return f.String()
		}
		return ""
	}
	if bucket := text("Bucket"); bucket != "" {
		if key := text("Key"); key != "" {
			return bucket + "/" + key
		}
		return bucket
	}
	for _, name := range []string{
		"QueueURL", "QueueName", "TopicArn", "TargetArn", "PhoneNumber", "SubscriptionArn", "SourceARN", "SourceArn",
		"ResourceArn", "ResourceARN", "AlarmName", "Namespace", "Name", "TaskHandle",
	} {
		if found := text(name); found != "" {
			return found
		}
	}
	return ""
}

// statusWriter remembers the status of a response; 0: there was none.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// Unwrap gives http.ResponseController access to the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(code int) {
	w.code = cmp.Or(w.code, code)
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.code = cmp.Or(w.code, http.StatusOK)
	return w.ResponseWriter.Write(b)
}
