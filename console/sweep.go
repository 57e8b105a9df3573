package console

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/console/internal/runs"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// sweepKind is the kind of a run that deletes channels.
const sweepKind = "sweep"

// sweptMost is how many channels the page of a sweep lists.
const sweptMost = 200

// sweeps reports whether unused channels can be deleted here: without tags, nothing says whose they are.
func sweeps(b driver.Backend) bool { return driver.OperationsOf(b).Tag != nil }

// sweepAction plans to delete the channels of an owner that nobody uses. The plan looks, which takes a minute; the run
// deletes what the plan has shown, as far as it is still unused.
func sweepAction(r *request) (string, error) {
	c, owner := r.c, strings.TrimSpace(r.PostFormValue("owner"))
	switch {
	case !sweeps(c.b):
		return "", bad("this service has no tags, so nothing says whose channels may be deleted: use the command")
	case owner == "":
		return "", bad("name the owner whose channels may be deleted, as their tag owner has it")
	}
	unused := []string{} // the plan writes it before the run can begin; nil would permit all
	p := &runs.Plan{
		Kind: sweepKind, Channel: owner, What: "channels of " + owner + " that nobody uses", By: r.name, Changes: true,
	}
	p.Count = func(ctx context.Context, _ func(runs.Progress)) (runs.Progress, error) {
		report, err := ops.Sweep(ctx, c.b, &ops.SweepOptions{Owner: owner})
		if err != nil {
			return runs.Progress{}, err
		}
		for i := range report.Findings {
			if f := &report.Findings[i]; f.Class == ops.SweepUnused {
				unused = append(unused, f.Channel)
			}
		}
		return swept(report), nil
	}
	p.Do = func(ctx context.Context, _ func(runs.Progress)) (runs.Progress, error) {
		journal := "sweep-" + time.Now().UTC().Format("20060102T150405Z") + ".journal"
		report, err := ops.Sweep(ctx, c.b, &ops.SweepOptions{
			Owner: owner, Yes: true, Only: unused, Journal: ops.FileJournal(filepath.Join(c.folder, journal)),
		})
		if report == nil {
			return runs.Progress{}, err
		}
		return swept(report), err
	}
	run, err := c.runs.Plan(p)
	if err != nil {
		return "", err
	}
	return c.url("runs", run.ID), nil
}

// swept is what a sweep has found, or has done.
func swept(r *ops.SweepReport) runs.Progress {
	p := runs.Progress{Done: int64(r.LookedAt), Total: int64(r.LookedAt), Notes: []string{r.Summary()}}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Class == ops.SweepUnused && f.Action == "" || f.Action == ops.SweepDeleted || f.Action == ops.SweepGone {
			p.Count++
		}
		if i >= sweptMost {
			continue
		}
		what := string(f.Class)
		if f.Action != "" {
			what = string(f.Action)
		}
		p.Lines = append(p.Lines, runs.Line{
			Name: f.Channel, Value: fmt.Sprintf("%s: %s", what, chart.Plain(f.Reason+" "+f.Problem, 300)),
		})
	}
	if more := len(r.Findings) - sweptMost; more > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%d channels are not listed here.", more))
	}
	if r.Journal != "" {
		p.Notes = append(p.Notes, "The journal "+r.Journal+" describes what was deleted: `godwit sweep --undo` makes it again.")
	}
	return p
}
