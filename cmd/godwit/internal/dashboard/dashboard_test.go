package dashboard

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// stage is a dashboard on a screen in memory.
type stage struct {
	*testing.T
	width, height int
	screen        tcell.SimulationScreen
	o             Options
	calls         []string
	failed        error
}

func newStage(t *testing.T, width, height int) *stage {
	s := &stage{T: t, width: width, height: height}
	s.o = Options{
		Title: "godwit prod", Old: time.Minute, Color: true,
		Watch: func(ctx context.Context) iter.Seq[ops.View] {
			return func(yield func(ops.View) bool) {
				if yield(view()) {
					<-ctx.Done()
				}
			}
		},
		History: func(ch driver.Channel) (all []ops.Sample) {
			for i := range 6 {
				at := time.Now().Add(-time.Duration(6-i) * 5 * time.Minute)
				all = append(all, ops.Sample{At: at, Waiting: int64(i)})
			}
			return all
		},
		Describe: func(_ context.Context, channel string) (string, error) {
			s.calls = append(s.calls, "describe "+channel)
			return channel + "\n  queue \x1b[31m\n" + strings.Repeat("line\n", 30), s.failed
		},
		Requeue: func(_ context.Context, channel string, dry bool) (string, error) {
			if dry {
				s.calls = append(s.calls, "ask "+channel)
				return "7 messages would go\nSend them back?", s.failed
			}
			s.calls = append(s.calls, "send "+channel)
			return "7 messages were sent", s.failed
		},
	}
	return s
}

func view() ops.View {
	queue := func(name string, dead bool, waiting int64, oldest time.Duration) ops.Watched {
		w := ops.Watched{ChannelInfo: driver.ChannelInfo{Channel: driver.Channel{Queue: name, DeadLetter: dead}}}
		w.Sample = ops.Sample{Waiting: waiting, Oldest: oldest, Sent: 12.5, Done: -1}
		return w
	}
	exchange := ops.Watched{ChannelInfo: driver.ChannelInfo{Channel: driver.Channel{Exchange: "events"}}}
	lost := queue("broken", false, 0, -1)
	lost.Err = errors.New("denied")
	return ops.View{At: time.Now(), Channels: []ops.Watched{
		queue("bills", false, 3, time.Second), lost, exchange, queue("orders\u202e", false, 12345, 2*time.Hour),
		queue("orders\u202e", true, 7, time.Minute), queue("alone", true, 1, time.Minute),
	}}
}

// run runs the dashboard; keys are typed one after the other, when everything else waits.
func (s *stage) run(shown func(key string, screen string), keys ...string) {
	synctest.Test(s.T, func(t *testing.T) {
		s.screen = tcell.NewSimulationScreen("UTF-8")
		if err := s.screen.Init(); err != nil {
			t.Fatal(err)
		}
		s.screen.SetSize(s.width, s.height)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Run(ctx, s.screen, &s.o)
		}()
		look := func(key string) {
			time.Sleep(time.Second)
			synctest.Wait()
			shown(key, s.text())
		}
		look("")
		for _, k := range keys {
			e := tcell.NewEventKey(tcell.KeyRune, []rune(k)[0], 0)
			for key, name := range map[tcell.Key]string{
				tcell.KeyEnter: "enter", tcell.KeyEscape: "esc", tcell.KeyDown: "down", tcell.KeyEnd: "end",
				tcell.KeyCtrlC: "ctrl-c",
			} {
				if name == k {
					e = tcell.NewEventKey(key, 0, 0)
				}
			}
			if err := s.screen.PostEvent(e); err != nil {
				t.Error(err)
			}
			if k == "q" || k == "ctrl-c" {
				<-ended
				stop()
				return
			}
			look(k)
		}
		stop()
		<-ended
	})
}

// text is what the screen shows.
func (s *stage) text() string {
	cells, width, height := s.screen.GetContents()
	var b strings.Builder
	for y := range height {
		line := ""
		for x := range width {
			line += string(cells[y*width+x].Runes)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// The list has a row for each channel, with its dead letters, and columns that fit the screen.
func TestList(t *testing.T) {
	for width, want := range map[int]string{
		100: "godwit prod: 5 channels, 3 with problems, seen 1s ago\n" +
			"CHANNEL                                        WAITING   AGE  DEAD FLIGHT   IN/s  OUT/s LAST HOUR\n" +
			"alone@dlq                                            1    1m     1      0   12.5             ▁▂▄▅▇█\n" +
			"bills                                                3    1s            0   12.5             ▁▂▄▅▇█\n" +
			"broken                                                                      12.5             ▁▂▄▅▇█\n",
		40: "5 channels, 3 with problems\n" +
			"CHANNEL       WAITING   AGE  DEAD 30m\n" +
			"alone@dlq           1    1m     1 ▂▄▅▇█\n" +
			"bills               3    1s       ▂▄▅▇█\n" +
			"broken                            ▂▄▅▇█\n" +
			"events.*\n" +
			"orders\\u202e      12k    2h     7 ▂▄▅▇█\n",
		12: "5 channels,…\nCHA… WAITING\n",
		1:  "…\n",
	} {
		newStage(t, width, 10).run(func(_, screen string) {
			if !strings.HasPrefix(screen, want) {
				t.Errorf("%d columns:\n%swant\n%s", width, screen, want)
			}
		})
	}
}

// Enter describes a channel, r asks and then sends, s sorts, q ends.
func TestKeys(t *testing.T) {
	s := newStage(t, 60, 12)
	wants := map[string][]string{
		"enter": {"bills\n  queue \\u001b[31m\nline\n", "esc back"}, "esc": {"CHANNEL", "enter describe"},
		"s": {"sorted by "}, "r": {"7 messages would go\nSend them back?", "y requeue"}, "y": {"7 messages were sent"},
		"n": {"nothing was sent"},
	}
	s.run(func(key, screen string) {
		for _, want := range wants[key] {
			if !strings.Contains(screen, want) {
				t.Errorf("after %s: %q is missing:\n%s", key, want, screen)
			}
		}
	}, "down", "enter", "end", "esc", "s", "down", "down", "s", "s", "end", "j", "k", "q")
	got := strings.Join(s.calls, ", ")
	if got != "describe bills" {
		t.Errorf("calls: %s", got)
	}
	s = newStage(t, 60, 12)
	s.run(func(key, screen string) {
		for _, want := range wants[key] {
			if !strings.Contains(screen, want) {
				t.Errorf("after %s: %q is missing:\n%s", key, want, screen)
			}
		}
	}, "end", "r", "n", "r", "y", "ctrl-c")
	if got := strings.Join(s.calls, ", "); got != "ask orders\u202e@dlq, ask orders\u202e@dlq, send orders\u202e@dlq" {
		t.Errorf("calls: %q", got)
	}
}

// What cannot be done is said in the last line but one, and nothing is called.
func TestRefusals(t *testing.T) {
	for want, prepare := range map[string]func(s *stage) []string{
		"it is protected": func(s *stage) []string {
			s.o.Refuse = "it is protected"
			return []string{"end", "r"}
		},
		"bills has no dead letters": func(*stage) []string { return []string{"down", "r"} },
		"no connection": func(s *stage) []string {
			s.failed = errors.New("no connection")
			return []string{"enter"}
		},
	} {
		s := newStage(t, 60, 12)
		last := ""
		s.run(func(_, screen string) { last = screen }, prepare(s)...)
		if !strings.Contains(last, want) || len(s.calls) > 0 && s.failed == nil {
			t.Errorf("%q is missing, or %v was called:\n%s", want, s.calls, last)
		}
	}
}

// Numbers have at most five characters.
func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.25: "0.2", 99.5: "99.5", 123.4: "123", 9999: "9999", 12345: "12k", 2.5e6: "2M", 3e12: "3000G",
	} {
		if got := short(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	if got := perSecond(math.NaN()) + perSecond(-1); got != "" {
		t.Errorf("an unknown rate is %q", got)
	}
}
