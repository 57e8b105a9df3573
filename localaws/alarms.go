package localaws

import (
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/tagging"
)

// topicsOfAlarms gives CloudWatch access to SNS, as the service that policies of topics name.
type topicsOfAlarms struct{ server *Server }

func (t topicsOfAlarms) Publish(topicARN, alarmARN, subject, message string) error {
	return t.server.sns.Deliver(topicARN, sns.Incoming{
		Service: "cloudwatch.amazonaws.com", Source: alarmARN, Subject: subject, Message: message,
		BaseURL: t.server.baseURL(),
	})
}

func (s *Server) taggedAlarms() []tagging.Resource {
	var all []tagging.Resource
	for arn, tags := range s.CloudWatch().Tagged() {
		all = append(all, tagging.Resource{ARN: arn, Tags: tags})
	}
	return all
}
