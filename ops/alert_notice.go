package ops

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// notice makes the notice of items that are in order.
func (a *Alerts) notice(at time.Time, items []claimed) *driver.Notice {
	n := &driver.Notice{ID: rand.Text(), At: at.UTC(), Title: title(a.o.Name, items)}
	for _, c := range items {
		i := driver.NoticeItem{
			State: c.state, Kind: c.alert.Kind, Critical: c.alert.Critical, Channel: c.alert.Channel,
			Address: c.alert.Address, Owner: c.alert.Owner, Environment: c.alert.Environment, Since: c.since.UTC(),
			Text: c.text,
		}
		if c.alert.Channel == "" {
			i.Address = ""
		}
		if c.state != driver.NoticeResolved {
			i.Commands = a.commands(&c.alert)
			n.Critical = n.Critical || i.Critical
		}
		n.Items = append(n.Items, i)
	}
	n.Text = textOf(n)
	return n
}

// commands are what to do next about an alert.
func (a *Alerts) commands(one *alert) []string {
	with := func(command string) string { return strings.TrimSpace("godwit " + command + " " + a.o.Flags) }
	if one.Channel == "" {
		return []string{with("ls")}
	}
	peek := "peek " + one.Channel
	if strings.HasPrefix(one.Address, "arn:") {
		peek += " --receive" // SQS needs it, and where it is not needed, it changes nothing
	}
	switch one.Kind {
	case kindDeadLetters:
		return []string{with(peek), with("requeue " + one.Channel)}
	case kindWaiting, kindAge:
		// What waits for a consumer is not sent anywhere; what the consumer has rejected may be.
		return []string{with(peek), with("requeue " + one.Channel + "@dlq")}
	}
	return []string{with("ls '" + one.Channel + "'")}
}

// textOf is a notice as plain text.
func textOf(n *driver.Notice) string {
	var b strings.Builder
	b.WriteString(n.Title + "\n")
	for i := range n.Items {
		b.WriteString("\n" + itemMark(&n.Items[i]) + " " + itemText(&n.Items[i]) + "\n")
		if whose := itemOwner(&n.Items[i]); whose != "" {
			b.WriteString("  " + whose + "\n")
		}
		for _, c := range n.Items[i].Commands {
			b.WriteString("  $ " + c + "\n")
		}
	}
	return b.String()
}

// itemMark is the first word of an item.
func itemMark(i *driver.NoticeItem) string {
	unknown := i.Kind == kindUnknown || i.Kind == kindUnknownAge || i.Kind == kindCatalog
	mark := "OPENED"
	switch {
	case i.State == driver.NoticeReported:
		mark = strings.ToUpper(i.Kind)
	case i.State == driver.NoticeResolved:
		mark = "RESOLVED"
	case unknown:
		mark = "UNKNOWN"
	case i.State == driver.NoticeLasting:
		mark = "LASTING"
	}
	if i.Critical {
		mark = "CRITICAL " + mark
	}
	return mark
}

func itemText(i *driver.NoticeItem) string {
	text := oneLine(i.Text)
	if i.Channel != "" {
		text = i.Channel + ": " + text
	}
	since := i.Since.Format("2006-01-02 15:04 MST")
	switch i.State {
	case driver.NoticeLasting:
		text += ", since " + since
	case driver.NoticeResolved:
		text += ", was open since " + since
	}
	return text
}

// itemOwner says whose channel it is; "": nobody knows.
func itemOwner(i *driver.NoticeItem) string {
	var parts []string
	if i.Owner != "" {
		parts = append(parts, "owner "+i.Owner)
	}
	if i.Environment != "" {
		parts = append(parts, "environment "+i.Environment)
	}
	return strings.Join(parts, ", ")
}

// oneLine removes line breaks and other control characters, which errors of services may contain.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

// longestWait bounds how long a service may ask us to wait.
const longestWait = 24 * time.Hour

// delivered is what became of a notice.
type delivered struct {
	route string
	items int
	err   error
}

// delivery is a notice on its way to one route.
type delivery struct {
	a      *Alerts
	route  Route
	by     string
	items  []claimed
	notice *driver.Notice
	spare  bool // the claims are in memory only, because the state could not be reached
}

// send tells the route, and notes in the state what became of it.
func (d *delivery) send(ctx context.Context) error {
	after, err := tell(ctx, d.route.To, d.notice)
	var told, until time.Time
	if err == nil {
		told = d.notice.At
	} else if after > 0 {
		until = time.Now().Add(min(after, longestWait))
	}
	end := ctx
	if ctx.Err() != nil { // the program is stopped: another one may tell them at once
		var cancel context.CancelFunc
		end, cancel = context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
	}
	settle := func(l *ledger) {
		l.settle(d.route.Name, d.by, d.items, told, until)
		l.clean(d.notice.At)
	}
	if d.spare {
		return errors.Join(err, d.a.changeIn(end, &d.a.spare, settle))
	}
	return errors.Join(err, d.a.change(end, settle))
}
