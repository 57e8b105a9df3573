package godwittest

import (
	"fmt"
	"strings"
	"time"
)

const (
	shownMessages = 20 // per channel in a failure's text; Messages returns all
	shownAttempts = 8  // per message: the first ones and the last
	shownBody     = 80 // characters
)

// picture describes the state for failures: what happened to each message, and which messages are in the channels.
// Without arguments it describes all channels.
func (v *view) picture(channels ...string) string {
	if len(channels) == 0 {
		channels = v.channels()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "state at %s:\n", v.after(v.Now()))
	for _, channel := range channels {
		v.draw(&b, channel)
		if !strings.HasSuffix(channel, deadSuffix) {
			v.drawDead(&b, channel)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (v *view) draw(b *strings.Builder, channel string) {
	ms, left := v.Messages(channel), v.Left(channel)
	lying := map[string]Left{}
	for _, l := range left {
		lying[l.ID] = l
	}
	fmt.Fprintf(b, "  %s: %d received, %d left", channel, len(ms), len(left))
	if made, _ := v.service.made(channel); !made {
		b.WriteString(" (there is no channel of this name)")
	}
	b.WriteString("\n")
	for i := range ms {
		if i == shownMessages {
			fmt.Fprintf(b, "    … and %d more\n", len(ms)-i)
			break
		}
		m := &ms[i]
		l, lies := lying[m.ID]
		fmt.Fprintf(b, "    %s%s: %s\n", short(m.Body), key(m.OrderKey), v.state(m, l, lies))
		v.drawAttempts(b, m.Attempts)
	}
	for _, m := range ms {
		delete(lying, m.ID)
	}
	shown := 0
	for _, l := range left {
		if _, unseen := lying[l.ID]; !unseen {
			continue
		}
		if shown++; shown > shownMessages {
			fmt.Fprintf(b, "    … and %d more that were never received\n", len(lying)-shown+1)
			break
		}
		fmt.Fprintf(b, "    %s%s: never received here, %s\n", short(l.Body), key(l.OrderKey), v.place(l))
	}
}

func (v *view) drawAttempts(b *strings.Builder, as []Attempt) {
	for i := range as {
		if left := len(as) - i; i >= shownAttempts/2 && left > shownAttempts/2 {
			if i == shownAttempts/2 {
				fmt.Fprintf(b, "      … %d more\n", len(as)-shownAttempts)
			}
			continue
		}
		a := &as[i]
		fmt.Fprintf(b, "      attempt %d at %s", a.Number, v.after(a.At))
		switch {
		case a.Outcome == "":
			b.WriteString(": its handler runs\n")
		case a.Err != nil:
			fmt.Fprintf(b, ": %q after %v, %s\n", a.Err.Error(), a.Took, a.Outcome)
		default:
			fmt.Fprintf(b, ": %s\n", a.Outcome)
		}
	}
}

func (v *view) drawDead(b *strings.Builder, channel string) {
	for i, d := range v.DeadLetters(channel) {
		if i == shownMessages {
			b.WriteString("    … and more\n")
			return
		}
		fmt.Fprintf(b, "    dead: %s\n", d.line())
	}
}

// state describes what happened to a message.
func (v *view) state(m *Message, l Left, lies bool) string {
	var words []string
	if m.Handled {
		words = append(words, handled)
	}
	if m.Received > 1 {
		words = append(words, fmt.Sprintf("received %d times", m.Received))
	}
	if lies {
		words = append(words, v.place(l))
	}
	if n := len(m.Attempts); !m.Handled && !lies && n > 0 {
		words = append(words, m.Attempts[n-1].Outcome)
	}
	if len(words) == 0 {
		return "gone"
	}
	return strings.Join(words, ", ")
}

// place describes where a message is.
func (v *view) place(l Left) string {
	if l.Until.IsZero() {
		return "waiting"
	}
	return fmt.Sprintf("%s until %s", l.State, v.after(l.Until))
}

// after returns a time as the duration since the harness began.
func (v *view) after(at time.Time) string {
	return "+" + at.Sub(v.begun).Round(time.Millisecond).String()
}

// line describes a dead letter.
func (d DeadLetter) line() string {
	var b strings.Builder
	b.WriteString(short([]byte(d.Body)))
	if d.Kind != "" {
		fmt.Fprintf(&b, ", %s", d.Kind)
	}
	if d.Attempts > 0 {
		fmt.Fprintf(&b, " at attempt %d", d.Attempts)
	}
	if d.Cause != "" {
		fmt.Fprintf(&b, ": %s", d.Cause)
	}
	if d.Consumer != "" {
		fmt.Fprintf(&b, " (rejected by %s)", d.Consumer)
	}
	return b.String()
}

// short returns a body as a failure shows it.
func short(body []byte) string {
	text := []rune(string(body))
	if len(text) <= shownBody {
		return fmt.Sprintf("%q", string(text))
	}
	return fmt.Sprintf("%q… (%d bytes)", string(text[:shownBody]), len(body))
}

func key(orderKey string) string {
	if orderKey == "" {
		return ""
	}
	return fmt.Sprintf(" [%s]", orderKey)
}

func keyed(channel, orderKey string) string {
	if orderKey == "" {
		return "messages of " + channel + " without an order key"
	}
	return fmt.Sprintf("messages of %s with the order key %s", channel, orderKey)
}

func list(bodies []string) string {
	all := make([]string, len(bodies))
	for i, body := range bodies {
		all[i] = short([]byte(body))
	}
	return "[" + strings.Join(all, " ") + "]"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", %d times", n)
}
