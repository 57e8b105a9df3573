package console

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/godwitmq/godwit/ops"
)

// Options are the options of a Console. The zero value serves figures to this machine.
type Options struct {
	// Name says in the pages whose channels these are, such as aws prod. Set it where people have several consoles. "":
	// none.
	Name string
	// Path is where the console is mounted, such as /console. Set it if it shares a server with other handlers. "": at
	// the root.
	Path string
	// Level is what everybody may do whose user has no level of its own. Set it to LevelAct where those who see the
	// page are those who are on call. 0: [LevelFigures].
	Level Level
	// Users are those who may sign in, by password or by token. Set them, or Proxy, where others than this machine are
	// served. Empty: nobody signs in.
	Users []User
	// Proxy trusts a proxy that signs people in. Set it behind one. nil: none.
	Proxy *Proxy
	// Hosts are the names by which browsers reach the console, such as console.example.com. Set them where it is not an
	// address. Names of this machine need none.
	Hosts []string
	// Mask hides parts of messages. Set it where bodies or headers have what people on call must not see.
	Mask Mask
	// Folder keeps the audit log, the journals of requeues, and the files of exports. Set it so that they outlive the
	// console. "": a temporary folder, which Close deletes.
	Folder string
	// History is a file that keeps the charts of the last six hours. Set it so that a restart does not lose them; the
	// console then looks at the channels also while nobody watches. "": none.
	History string
	// Workers are the addresses at which processes serve ops.Workers, such as 10.0.0.7:8080/workers. A name of DNS
	// stands for all of its addresses, and @FILE for those in a file. Set them to see running handlers. Empty: none.
	Workers []string
	// Own is what the consumers of this process report. Set it if the console is part of their process. nil: nothing.
	Own *ops.Workers
	// Interval is how often every channel is looked at. Change it if charts need more or less detail. 0: 10 s.
	Interval time.Duration
	// Requests is how many requests a minute the looks may cost. Lower it if the account's limits or prices matter. 0:
	// 1,200.
	Requests int
	// Traces is the address of a trace where traces are shown, with {trace} for its id, such as
	// https://jaeger.example.com/trace/{trace}. Set it to link messages with their traces. "": none.
	Traces string
	// Expression compiles expressions on bodies, for the term jq of filters and for edits of several messages. Set it
	// to offer them; they must end by themselves. nil: there are none.
	Expression func(text string) (Expression, error)
	// Local is the embedded server behind the backend. Set it to show a bar that sends, advances the clock, injects
	// faults and resets. nil: none.
	Local Local
	// Spaces lists the namespaces that have a console each at this address, for links in every page; it is called for
	// each page. Set it where there are several. nil: there is only this one.
	Spaces func() []Space
	// Logger gets what cannot be shown in a page. nil: slog.Default(). Set it to log elsewhere.
	Logger *slog.Logger
}

// Level says what a user may do. A level includes those below it.
type Level uint8

// The levels.
const (
	LevelFigures Level = 1 + iota // numbers, settings, the shapes of errors
	LevelBodies                   // messages with their headers and bodies, and the texts of errors
	LevelAct                      // everything that changes something
)

// String is the name of a level.
func (l Level) String() string {
	names := [...]string{"nothing", "figures", "bodies", "act"}
	if int(l) < len(names) {
		return names[l]
	}
	return "unknown level"
}

// User is somebody who may sign in.
type User struct {
	Name     string
	Password string // for basic authentication; "": not by password
	Token    string // a bearer token, for programs and proxies; "": not by token
	Level    Level  // 0: Options.Level
}

// Proxy is a reverse proxy that signs people in, and says who they are.
type Proxy struct {
	Header string         // with the name of the user, such as X-Forwarded-User
	From   []netip.Prefix // the addresses of the proxy; the header of anybody else is refused
}

// Mask hides parts of messages in pages. While it hides anything of bodies, exports and downloads are refused, and
// bodies that are no JSON are not shown.
type Mask struct {
	Headers []string // names
	Paths   []string // of values in JSON, such as card.number or items.*.name
}

// Expression is an expression on a body.
type Expression interface {
	Selects(body []byte) (bool, error)
	Edit(body []byte) ([]byte, error)
}

// Space is a namespace with a console of its own.
type Space struct {
	Name string // "": the channels without a namespace
	Href string // the path of its console, such as /in/prod/
	Here bool   // it is the one of this console
}

// Local is an embedded server. Its methods are safe for concurrent use.
type Local interface {
	// Send sends a message to a channel.
	Send(ctx context.Context, channel string, body []byte) error
	// Advance moves the server's clock.
	Advance(d time.Duration)
	// Faults are the names of the faults that can be injected, and Inject injects one; "": none any more.
	Faults() []string
	Inject(fault string) error
	// Injected is the fault that is injected; "": none.
	Injected() string
	// Reset deletes everything.
	Reset()
}
