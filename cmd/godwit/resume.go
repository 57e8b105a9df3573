package main

import "github.com/spf13/cobra"

func newResume() *cobra.Command {
	return (&pauseOptions{resume: true}).command(&cobra.Command{
		Use:   "resume CHANNEL",
		Short: "End a pause of a channel",
		Long: "End a pause of a channel.\n\n" +
			"Without --yes, it only prints what would happen. Consumers of Godwit go on within 20 s.",
		Example: "  godwit resume orders --yes",
	})
}
