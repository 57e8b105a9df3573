package trust

import (
	"encoding/json"
	"strings"
)

// Notification is SNS's JSON for a message without raw delivery.
type Notification struct {
	Publication
	Type              string
	MessageID         string `json:"MessageId"`
	Message           string
	MessageAttributes map[string]struct{ Type, Value string }

	SignatureVersion, Signature string
	CertURL                     string `json:"SigningCertURL"`
}

// Publication is what SNS says about a message beside body and attributes.
type Publication struct {
	TopicArn  string
	Subject   *string // nil: it has none
	Timestamp string  // when SNS accepted it
}

func Parse(body string) (n Notification, ok bool) {
	if !strings.HasPrefix(body, "{") || !strings.Contains(body, `"TopicArn"`) {
		return n, false
	}
	ok = json.Unmarshal([]byte(body), &n) == nil && n.Type == "Notification" && n.TopicArn != "" && n.MessageID != ""
	return n, ok
}

// LooksWrapped reports whether a body without attributes would be taken for SNS's JSON by a channel that trusts its
// topic.
func LooksWrapped(body string) bool {
	_, is := Parse(body)
	return is
}

// signed is the text that SNS signs.
func (n *Notification) signed() string {
	fields := []string{"Message", n.Message, "MessageId", n.MessageID}
	if n.Subject != nil {
		fields = append(fields, "Subject", *n.Subject)
	}
	fields = append(fields, "Timestamp", n.Timestamp, "TopicArn", n.TopicArn, "Type", n.Type, "")
	return strings.Join(fields, "\n")
}
