package wire

// There are no users: every caller of an account, with any access key or none, is the same user.
const (
	UserName = "localaws"
	UserID   = "AIDALOCALAWS000000000" // in the form of IAM's ids
)

// UserARN returns the ARN of the user of an account.
func UserARN(partition, account string) string {
	return rootOf(partition, account) + "user/" + UserName
}

// AccountARN returns the ARN of an account.
func AccountARN(partition, account string) string { return rootOf(partition, account) + "root" }

func rootOf(partition, account string) string { return "arn:" + partition + ":iam::" + account + ":" }
