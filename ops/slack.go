package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
)

// Slack's limits.
const (
	slackBlocks = 50  // of a message
	slackHeader = 150 // characters of a header
	// slackItem is the length of a section. Slack takes 3,000 characters, and an error of AWS needs fewer.
	slackItem = 1000
	// slackAll bounds all texts of a message: Slack refuses messages whose blocks have about 12,000 characters together
	// with what surrounds them.
	slackAll = 9000
)

// SlackOptions are the options of NewSlack. URL is required.
type SlackOptions struct {
	// URL is the address of an incoming webhook of Slack. Set it from a secret: who knows it can write to the channel.
	URL string
	// Transport carries the requests. Set it for a proxy. nil: http.DefaultTransport.
	Transport http.RoundTripper
}

// Slack is a [Notifier] that posts to an incoming webhook of Slack, with Block Kit.
type Slack struct{ to *poster }

// NewSlack makes no request.
func NewSlack(o SlackOptions) (*Slack, error) {
	to, err := newPoster("SlackOptions.URL", o.URL, "https://hooks.slack.com/services/…", o.Transport)
	if err != nil {
		return nil, err
	}
	return &Slack{to: to}, nil
}

// Notify posts a notice. A notice that has no room in one message is cut: the last block counts the items that are
// left out, which are those that are not critical, as far as possible.
func (s *Slack) Notify(ctx context.Context, n *driver.Notice) error {
	body, err := json.Marshal(slackMessageOf(n))
	if err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	if err := s.to.post(ctx, body, nil); err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	return nil
}

// slackMessage is the body of a request.
type slackMessage struct {
	Text   string       `json:"text"` // for notifications of the system
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func slackMessageOf(n *driver.Notice) slackMessage {
	title := cut(n.Title, slackHeader)
	m := slackMessage{Text: slackEscape(title), Blocks: []slackBlock{
		{Type: "header", Text: &slackText{"plain_text", title}},
	}}
	used := utf8.RuneCountInString(title)
	for i := range n.Items {
		text := slackLine(&n.Items[i])
		used += utf8.RuneCountInString(text)
		if last := len(m.Blocks) == slackBlocks-1; last && i < len(n.Items)-1 || used > slackAll {
			rest := fmt.Sprintf("and %d more, which have no room here: see `godwit alerts --once`", len(n.Items)-i)
			m.Blocks = append(m.Blocks, slackBlock{Type: "context", Elements: []slackText{{"mrkdwn", rest}}})
			break
		}
		m.Blocks = append(m.Blocks, slackBlock{Type: "section", Text: &slackText{"mrkdwn", text}})
	}
	return m
}

// slackLine is an item in the markup of Slack.
func slackLine(i *driver.NoticeItem) string {
	lines := []string{"*" + itemMark(i) + "* " + slackEscape(cut(itemText(i), slackItem))}
	if whose := itemOwner(i); whose != "" {
		lines = append(lines, slackEscape(cut(whose, slackItem)))
	}
	for _, c := range i.Commands {
		lines = append(lines, "`"+slackEscape(strings.ReplaceAll(c, "`", "'"))+"`")
	}
	return strings.Join(lines, "\n")
}

// slackEscape escapes what is a link or a mention in the markup of Slack.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
