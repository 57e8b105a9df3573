package ops

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// SweepAction is what a sweep has done with a channel.
type SweepAction string

const (
	SweepNothing   SweepAction = ""
	SweepAnnounced SweepAction = "announced" // a later run deletes it, if it is unused then
	SweepDeleted   SweepAction = "deleted"
	SweepGone      SweepAction = "gone"   // somebody else has deleted it
	SweepFailed    SweepAction = "failed" // it is not deleted: see Problem
)

// SweepFinding is one channel that is not used as it should be.
type SweepFinding struct {
	Channel string      `json:"channel"`
	Role    string      `json:"role"`
	Address string      `json:"address"`
	Owner   string      `json:"owner,omitempty"`
	Class   SweepClass  `json:"class"`
	Reason  string      `json:"reason"`
	Action  SweepAction `json:"action,omitempty"`
	Problem string      `json:"error,omitempty"`

	info driver.ChannelInfo
}

// SweepReport is what a sweep has found and done. It has no channel that is used.
type SweepReport struct {
	At       time.Time      `json:"at"`
	Owner    string         `json:"owner,omitempty"`
	LookedAt int            `json:"looked_at"` // channels, also those in use
	Findings []SweepFinding `json:"findings"`
	Journal  string         `json:"journal,omitempty"` // where the deleted channels are described; "": none was
}

// Summary says in one line how many channels are of each class, and what was done.
func (r *SweepReport) Summary() string {
	classes, actions := map[SweepClass]int{}, map[SweepAction]int{}
	for i := range r.Findings {
		classes[r.Findings[i].Class]++
		actions[r.Findings[i].Action]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d channels were looked at", r.LookedAt)
	for _, class := range []SweepClass{
		SweepUnused, SweepStale, SweepNoProducers, SweepNoConsumers, SweepUnknown, SweepKept,
	} {
		if n := classes[class]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, class)
		}
	}
	for _, action := range []SweepAction{SweepAnnounced, SweepDeleted, SweepGone, SweepFailed} {
		if n := actions[action]; n > 0 {
			fmt.Fprintf(&b, "; %d %s", n, action)
		}
	}
	return b.String()
}

// sweepSection is a part of a report for people.
type sweepSection struct {
	title string
	of    []*SweepFinding
}

// sections are the parts of the report that have findings: what was deleted, and what is wrong with the rest.
func (r *SweepReport) sections() (all []sweepSection) {
	section := func(title string, of func(f *SweepFinding) bool) {
		s := sweepSection{title: title}
		for i := range r.Findings {
			if f := &r.Findings[i]; of(f) {
				s.of = append(s.of, f)
			}
		}
		if len(s.of) > 0 {
			all = append(all, s)
		}
	}
	exchange := driver.RoleExchange.String()
	for _, a := range []SweepAction{SweepDeleted, SweepGone, SweepFailed, SweepAnnounced, SweepNothing} {
		title := string(a)
		if a == SweepNothing {
			title = "unused"
		}
		section("exchanges "+title, func(f *SweepFinding) bool {
			return f.Class == SweepUnused && f.Action == a && f.Role == exchange
		})
		section("queues "+title, func(f *SweepFinding) bool {
			return f.Class == SweepUnused && f.Action == a && f.Role != exchange
		})
	}
	for _, class := range []SweepClass{SweepStale, SweepNoProducers, SweepNoConsumers, SweepUnknown, SweepKept} {
		section(string(class), func(f *SweepFinding) bool { return f.Class == class })
	}
	return all
}

// Text is the report for people, with names and owners.
func (r *SweepReport) Text() string {
	var b strings.Builder
	b.WriteString(r.Summary())
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n\n%s:", s.title)
		for _, f := range s.of {
			fmt.Fprintf(&b, "\n  %s", f.Channel)
			if f.Owner != "" {
				fmt.Fprintf(&b, " (%s)", f.Owner)
			}
			fmt.Fprintf(&b, ": %s", f.why())
		}
	}
	if r.Journal != "" {
		fmt.Fprintf(&b, "\n\nmake them again with: godwit sweep --undo %s", r.Journal)
	}
	return b.String()
}

// why is the reason of a finding, and what went wrong.
func (f *SweepFinding) why() string {
	if f.Problem != "" {
		return f.Reason + ": " + f.Problem
	}
	return f.Reason
}

// notice is the report for notifiers; nil: there is nothing to tell. What is kept is no news.
func (r *SweepReport) notice(name, flags string) *driver.Notice {
	n := &driver.Notice{ID: rand.Text(), At: r.At, Title: name + ": sweep: " + r.Summary(), Text: r.Text() + "\n"}
	for _, s := range r.sections() {
		for _, f := range s.of {
			if f.Class == SweepKept {
				continue
			}
			i := driver.NoticeItem{
				State: driver.NoticeReported, Kind: s.title, Channel: f.Channel, Address: f.Address, Owner: f.Owner,
				Environment: f.info.Tags[tagEnvironment], Since: r.At, Text: f.why(),
			}
			switch f.Action {
			case SweepDeleted:
				i.Commands = []string{strings.TrimSpace("godwit sweep --undo " + r.Journal + " " + flags)}
			case SweepGone:
			default:
				i.Commands = []string{strings.TrimSpace("godwit ls '" + f.Channel + "' " + flags)}
			}
			n.Items = append(n.Items, i)
		}
	}
	if len(n.Items) == 0 {
		return nil
	}
	return n
}
