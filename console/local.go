package console

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
)

// localBar is the bar of local mode.
type localBar struct {
	Faults   []string
	Injected string
	Channel  string // that a message is sent to, unless another is chosen
}

// localBarOf returns the bar; nil: there is none.
func localBarOf(r *request) *localBar {
	l := r.c.o.Local
	if l == nil || r.may < LevelAct {
		return nil
	}
	return &localBar{Faults: l.Faults(), Injected: l.Injected(), Channel: r.PathValue("name")}
}

// localAction does what only an embedded server can do.
func localAction(r *request) (string, error) {
	l, back := r.c.o.Local, r.back(r.c.url())
	if l == nil {
		return "", &problem{
			status: http.StatusNotFound, title: "There is no embedded server",
			err: fmt.Errorf("this console looks at a service that cannot do %q", chart.Plain(r.PathValue("what"), 40)),
		}
	}
	switch what := r.PathValue("what"); what {
	case "send":
		channel := r.PostFormValue("channel")
		if channel == "" {
			return "", bad("name the channel that gets the message")
		}
		return back, r.c.change(r, "send", channel, "", func() error {
			return l.Send(r.Context(), channel, []byte(r.PostFormValue("body")))
		})
	case "advance":
		by, err := time.ParseDuration(r.PostFormValue("by"))
		if err != nil || by <= 0 || by > 30*24*time.Hour {
			return "", bad("the clock is advanced by a duration such as 15m, of at most 30 days")
		}
		return back, r.c.change(r, "advance the clock", "", by.String(), func() error {
			l.Advance(by)
			return nil
		})
	case "fault":
		fault := r.PostFormValue("fault")
		if fault != "" && !slices.Contains(l.Faults(), fault) {
			return "", bad(fmt.Sprintf("there is no fault %q", chart.Plain(fault, 60)))
		}
		return back, r.c.change(r, "inject a fault", "", fault, func() error { return l.Inject(fault) })
	case "reset":
		if r.PostFormValue("sure") == "" {
			return "", bad("a reset deletes everything: tick the box first")
		}
		return r.c.url(), r.c.change(r, "reset", "", "everything is deleted", func() error {
			l.Reset()
			return nil
		})
	default:
		return "", bad(fmt.Sprintf("there is no action %q: use send, advance, fault or reset", chart.Plain(what, 40)))
	}
}
