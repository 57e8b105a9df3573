package snssqs

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

const (
	// longestSubject is shorter than SNS's limit of 100 characters.
	longestSubject = 99
	// longestNotice leaves room in SNS's limit of 256 KiB for the subject and the attributes.
	longestNotice = 250 << 10
)

// Notifier publishes notices to a topic of SNS, for its subscribers: people by mail, and programs. It is a Notifier of
// package ops. It needs the permission sns:Publish.
type Notifier struct {
	clients *client.Clients
	arn     string
}

func newNotifier(clients *client.Clients, topicARN string) (*Notifier, error) {
	a, ok := estate.ParseARN(topicARN)
	if !ok || a.Service != "sns" || a.Region == "" || a.Account == "" || a.Name == "" || strings.Contains(a.Name, ":") {
		return nil, fmt.Errorf("snssqs: %q is no ARN of a topic: it has the form "+
			"arn:aws:sns:eu-west-1:123456789012:alerts", topicARN)
	}
	if estate.Ordered(a.Name) {
		return nil, fmt.Errorf("snssqs: topic %s is ordered, and such topics send no mail: use a standard one", topicARN)
	}
	return &Notifier{clients: clients, arn: topicARN}, nil
}

// Notify publishes the text of a notice. The attributes critical and notice are for filters of subscriptions.
func (n *Notifier) Notify(ctx context.Context, notice *driver.Notice) error {
	if err := n.clients.Open(); err != nil {
		return err
	}
	a, _ := estate.ParseARN(n.arn)
	attribute := func(value string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}
	t := estate.Topic{Name: a.Name, ARN: n.arn, Region: a.Region, Foreign: true}
	_, err := n.clients.SNS.Publish(ctx, &sns.PublishInput{
		TopicArn: &n.arn, Subject: aws.String(subject(notice.Title)), Message: aws.String(shorten(notice.Text)),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"critical": attribute(fmt.Sprint(notice.Critical)), "notice": attribute(notice.ID),
		},
	}, t.At())
	if err != nil {
		return fmt.Errorf("topic %s: %w", a.Name, client.Failed(err, "sns:Publish"))
	}
	return nil
}

// subject is a title as SNS takes it: printable ASCII that begins with a letter, a digit or a punctuation mark.
func subject(title string) string {
	s := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, title))
	if s == "" {
		return "godwit"
	}
	return s[:min(len(s), longestSubject)]
}

// shorten cuts a text behind a line where it is longer than SNS takes, and counts the lines that are left out.
func shorten(text string) string {
	if len(text) <= longestNotice {
		return strings.ToValidUTF8(text, "?")
	}
	end := strings.LastIndexByte(text[:longestNotice], '\n') + 1
	if end == 0 {
		end = longestNotice
		for !utf8.RuneStart(text[end]) {
			end--
		}
	}
	return strings.ToValidUTF8(text[:end], "?") + fmt.Sprintf("\nand %d more lines, which have no room here: see "+
		"`godwit alerts --once`\n", strings.Count(text[end:], "\n"))
}
