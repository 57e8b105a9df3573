package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/console/internal/runs"
)

// confirmFrom is the number of messages from which on an action asks for the channel's name.
const confirmFrom = 100

// runRow is a run as pages show it.
type runRow struct {
	runs.Run
	Href, ChannelHref string
	Percent           int64
	Rate              float64
	Left              string // how long it still takes; "": unknown
	Took              time.Duration
}

func runRowOf(c *Console, run *runs.Run) runRow {
	now := time.Now()
	row := runRow{
		Run: *run, Href: c.url("runs", run.ID), ChannelHref: c.url("channel", run.Channel),
		Percent: percent(run.Progress.Done, run.Progress.Total), Rate: run.Rate(now), Took: -1,
	}
	if run.Kind == sweepKind {
		row.ChannelHref = ""
	}
	if run.State == runs.Done {
		row.Percent = 100
	}
	if !run.Started.IsZero() {
		row.Took = now.Sub(run.Started)
		if !run.Ended.IsZero() {
			row.Took = run.Ended.Sub(run.Started)
		}
	}
	if left := run.Progress.Total - run.Progress.Done; run.State == runs.Running && left > 0 && row.Rate > 0 {
		row.Left = span(time.Duration(float64(left) / row.Rate * float64(time.Second)))
	}
	return row
}

// Noun is what a run counts, for the template.
func (r runRow) Noun() string {
	if r.Kind == sweepKind {
		return "channel"
	}
	return "message"
}

// runsData is what the page of all runs shows.
type runsData struct {
	Runs  []runRow
	Audit []runs.Entry
	File  string
	Sweep string // where a sweep is planned; "": the person may not, or the service has no tags
}

// runsPage lists what is under way, what is done, and every change.
func runsPage(r *request) (*view, error) {
	all, changed := r.c.runs.All()
	d := &runsData{Audit: r.c.audit.Entries()}
	for i := range all {
		d.Runs = append(d.Runs, runRowOf(r.c, &all[i]))
	}
	if r.may >= LevelAct && sweeps(r.c.b) {
		d.Sweep = r.c.url("runs", sweepKind)
	}
	if len(d.Audit) > 100 && r.FormValue("all") == "" {
		d.Audit = d.Audit[:100]
	}
	return &view{
		title: "Runs", name: "runs", nav: "runs", data: d, changed: changed,
		live: []string{"runs-list", "runs-audit"},
	}, nil
}

// runData is what the page of a run shows.
type runData struct {
	runRow
	May, Confirm  bool
	Start, Cancel string
	Download      string
	Stale         bool
	Verb          string
}

// runPage shows a run: what it would do, how far it is, or what it has done.
func runPage(r *request) (*view, error) {
	c, id := r.c, r.PathValue("id")
	_, changed := c.runs.All()
	run, err := c.runs.Find(id)
	if err != nil {
		return nil, err
	}
	d := &runData{
		runRow: runRowOf(c, &run), May: r.may >= LevelAct, Start: c.url("runs", id, "start"),
		Cancel:  c.url("runs", id, "cancel"),
		Confirm: confirms(&run), Stale: run.Stale(time.Now()), Verb: verb(run.Kind),
	}
	if run.Progress.File != "" && r.may >= LevelBodies {
		d.Download = c.url("runs", id, "file")
	}
	if r.may < LevelBodies {
		d.Progress.Notes, d.Plan.Notes = nil, nil
	}
	v := &view{
		title: run.Kind + " " + run.Channel, name: "run", nav: "runs", data: d, changed: changed,
		live: []string{"run-state", "run-form"},
	}
	if !run.State.Over() && run.State != runs.Planned {
		v.again = 2
	}
	return v, nil
}

// verb is what a button says.
func verb(kind string) string {
	if kind == "discard" || kind == "purge" || kind == sweepKind {
		return "Delete"
	}
	return title(kind)
}

// confirms reports whether the start of a run asks for the name of the channel, or of the owner.
func confirms(run *runs.Run) bool {
	return run.Kind == "purge" || run.Kind == sweepKind || run.Changes && run.Plan.Count > confirmFrom
}

// startAction starts a planned run.
func startAction(r *request) (string, error) {
	id := r.PathValue("id")
	run, err := r.c.runs.Find(id)
	if err != nil {
		return "", err
	}
	if name := r.PostFormValue("confirm"); confirms(&run) && name != run.Channel {
		return "", &problem{
			status: http.StatusBadRequest, title: "Not confirmed", href: r.c.url("runs", id),
			link: "Back to the plan",
			err: fmt.Errorf("write the name %s to confirm: %q is another text", run.Channel,
				chart.Plain(name, 80)),
		}
	}
	_, err = r.c.runs.Start(id, r.name)
	return r.c.url("runs", id), err
}

// cancelAction cancels a run.
func cancelAction(r *request) (string, error) {
	_, err := r.c.runs.Cancel(r.PathValue("id"), r.name)
	return r.c.url("runs", r.PathValue("id")), err
}

// runFile serves the file of an export.
func runFile(w http.ResponseWriter, r *request) error {
	run, err := r.c.runs.Find(r.PathValue("id"))
	if err != nil {
		return err
	}
	if run.Progress.File == "" {
		return &problem{
			status: http.StatusNotFound, title: "There is no file", err: errors.New("the run has written no file"),
			href: r.c.url("runs", run.ID), link: "See the run",
		}
	}
	f, err := os.Open(run.Progress.File)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="export-`+run.ID+`.jsonl"`)
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	_, _ = io.Copy(w, f) // the browser has left
	return nil
}
