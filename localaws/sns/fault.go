package sns

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/wire"
)

// invalid returns SNS's most common error, InvalidParameter.
func invalid(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "InvalidParameter", Message: "Invalid parameter: " + fmt.Sprintf(format, args...)}
}

func valueInvalid(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "ParameterValueInvalid", Message: fmt.Sprintf(format, args...)}
}

func limitExceeded(code, message string) *wire.Error {
	return &wire.Error{Code: code, Message: message, Status: http.StatusForbidden}
}

func noTopic() *wire.Error {
	return &wire.Error{Code: "NotFound", Message: "Topic does not exist", Status: http.StatusNotFound}
}

func noSubscription() *wire.Error {
	return &wire.Error{Code: "NotFound", Message: "Subscription does not exist", Status: http.StatusNotFound}
}

func noResource() *wire.Error {
	return &wire.Error{Code: "ResourceNotFound", Message: "Resource does not exist", Status: http.StatusNotFound}
}

// unauthorized returns the error of a caller that may not call an action.
func unauthorized(account, action, arn string) *wire.Error {
	return &wire.Error{
		Code: "AuthorizationError", Status: http.StatusForbidden,
		Message: fmt.Sprintf("User: %s is not authorized to perform: SNS:%s on resource: %s because no "+
			"resource-based policy allows the SNS:%s action",
			principal(account), action, arn, action),
	}
}

// principal is the user that every caller of an account is taken for, because this server has no users.
func principal(account string) string { return "arn:aws:iam::" + account + ":user/localaws" }

const arnElements = 6

// parseARN splits an ARN of this service. parameter is its name in the error.
func parseARN(parameter string, value *string) ([]string, *wire.Error) {
	if value == nil {
		return nil, invalid("%s Reason: no value for required parameter", parameter)
	}
	parts := strings.Split(*value, ":")
	if len(parts) < arnElements {
		return nil, invalid("%s Reason: An ARN must have at least %d elements, not %d", parameter, arnElements,
			len(parts))
	}
	return parts, nil
}

// ours checks that a parsed ARN belongs to this service, region and account.
func (s *Service) ours(c *wire.Call, parameter string, parts []string) *wire.Error {
	switch {
	case parts[0] != "arn" || parts[2] != "sns":
		return invalid("%s", parameter)
	case parts[3] != s.opts.Region:
		s.missing(strings.Join(parts, ":"))
		return invalid("%s", parameter)
	case parts[4] != s.opts.Account:
		return unauthorized(c.Account, c.Action, strings.Join(parts, ":"))
	}
	return nil
}

// missing reports a topic that a call names and that is not here. The caller holds no lock.
func (s *Service) missing(arn string) {
	if s.opts.Missing != nil {
		s.opts.Missing(arn)
	}
}

// topicARN checks a topic's ARN, and that the caller may call the action. It does not check that the topic exists.
func (s *Service) topicARN(c *wire.Call, parameter string, value *string) (string, *wire.Error) {
	parts, fault := parseARN(parameter, value)
	if fault == nil {
		fault = s.ours(c, parameter, parts)
	}
	if fault != nil {
		return "", fault
	}
	s.mu.RLock()
	t, there := s.topics[*value]
	allowed, denied := c.Account == s.opts.Account, false
	if there && !allowed {
		allowed, denied = t.decides(c)
	}
	s.mu.RUnlock()
	if !there {
		s.missing(*value)
	}
	if !allowed {
		return *value, s.refusal(c, *value, denied)
	}
	return *value, nil
}

// refusal returns the error of a caller that no policy allows an action; nil: policies are lenient, and none denies it.
func (s *Service) refusal(c *wire.Call, arn string, denied bool) *wire.Error {
	fault := unauthorized(c.Account, c.Action, arn)
	if !denied && s.opts.Leniency.Permits(fault.Message) {
		return nil
	}
	return fault
}

// decides reports whether the topic's policy allows a call of another account, and whether it denies it. A batch needs
// the permission of the single action. The caller holds the service's lock.
func (t *topic) decides(c *wire.Call) (allowed, denied bool) {
	statements, err := t.policy.statements()
	if err != nil {
		return false, true
	}
	r := access.Request{
		Caller: principal(c.Account), Action: "sns:" + strings.TrimSuffix(c.Action, "Batch"), Resource: t.arn,
		Account: c.Account,
	}
	return access.Allows(statements, r), access.Denies(statements, r)
}

// subscriptionARN checks a subscription's ARN, and that the caller owns the subscription or its topic. It does not
// check that the subscription exists.
func (s *Service) subscriptionARN(c *wire.Call, value *string) (string, *wire.Error) {
	if value == nil || *value == "" {
		return "", invalid("SubscriptionArn Reason: no value for required parameter")
	}
	parts, fault := parseARN("SubscriptionArn", value)
	if fault != nil {
		return "", fault
	}
	if len(parts) != arnElements+1 || !uuidForm.MatchString(parts[arnElements]) {
		return "", invalid("SubscriptionId")
	}
	if fault := s.ours(c, "SubscriptionArn", parts); fault != nil {
		return "", fault
	}
	if c.Account != s.opts.Account && !s.owns(c.Account, *value) {
		return *value, s.refusal(c, *value, false)
	}
	return *value, nil
}

// owns reports whether an account owns a subscription.
func (s *Service) owns(account, arn string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sub, there := s.subscriptions[arn]
	return there && sub.owner == account
}
