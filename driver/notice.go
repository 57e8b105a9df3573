package driver

import "time"

// Notice is what a notifier tells people. It is here, and not in package ops, so that backends can carry one without
// knowing that package.
type Notice struct {
	// ID is the same for each try to send the notice.
	ID string `json:"id"`
	// At is when the channels were looked at.
	At       time.Time `json:"at"`
	Title    string    `json:"title"`
	Critical bool      `json:"critical"` // whether one of the items that are not resolved is critical
	// Items are the lines of the notice; those that are critical come first.
	Items []NoticeItem `json:"items"`
	// Text is the whole notice as plain text, with its title and all items.
	Text string `json:"-"`
}

// NoticeItem is one line of a notice.
type NoticeItem struct {
	State       NoticeState `json:"state"`
	Kind        string      `json:"kind"` // the subject: waiting, age, dead-letters, unknown …; of a sweep, the class
	Critical    bool        `json:"critical"`
	Channel     string      `json:"channel,omitempty"`
	Address     string      `json:"address,omitempty"` // the service's name of the resource
	Owner       string      `json:"owner,omitempty"`
	Environment string      `json:"environment,omitempty"`
	Since       time.Time   `json:"since"`
	Text        string      `json:"text"`
	// Commands are what to do next, for a shell.
	Commands []string `json:"commands,omitempty"`
}

// NoticeState says what has happened to what an item is about.
type NoticeState string

const (
	NoticeOpened   NoticeState = "opened"
	NoticeLasting  NoticeState = "lasting" // it was told before, and has not ended
	NoticeResolved NoticeState = "resolved"
	NoticeReported NoticeState = "reported" // it is a line of a report, which has no end
)
