package localaws

import (
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/wire"
)

// topicsOfAlarms gives CloudWatch access to SNS, as the service that policies of topics name.
type topicsOfAlarms struct{ server *Server }

func (t topicsOfAlarms) Publish(topicARN, alarmARN, subject, message string) error {
	in := sns.Incoming{
		Service: "cloudwatch.amazonaws.com", Source: alarmARN, Subject: subject, Message: message,
		BaseURL: t.server.baseURL(),
	}
	if at, ok := wire.PlaceOf(alarmARN); ok {
		in.Account = at.Account
	}
	return t.server.places.named(topicARN).sns.Deliver(topicARN, in)
}
