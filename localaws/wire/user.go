package wire

// There are no users: every caller of an account, with any access key or none, is the same user.
const (
	UserName = "localaws"
	UserID   = "AIDALOCALAWS000000000" // in the form of IAM's ids
)

// UserARN returns the ARN of the user of an account.
func UserARN(account string) string { return "arn:aws:iam::" + account + ":user/" + UserName }
