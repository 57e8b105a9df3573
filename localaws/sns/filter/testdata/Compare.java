import java.nio.file.Files;
import java.nio.file.Path;
import software.amazon.event.ruler.Machine;

// Asks Amazon's own matcher about the cases that TestWriteCases wrote, and shows where it answers otherwise.
// Needs software.amazon.event.ruler:event-ruler and what it depends on in the class path:
//
//   go test ./localaws/sns/filter -run TestWriteCases -cases cases.tsv
//   java -cp "$CLASSPATH" localaws/sns/filter/testdata/Compare.java cases.tsv
//
// Known differences, which are counted but not shown: numbers beyond ±1,000,000,000, which SNS does not compare and
// event-ruler does; names with a dot in them, which event-ruler takes for a path as well; and a field that has both
// wildcard and equals-ignore-case, one of which event-ruler then matches where it does not ("xy" with *1*x* or y). Any
// other difference, and an end of the known ones, is an error.
public class Compare {
    public static void main(String[] arguments) throws Exception {
        int cases = 0, known = 0, others = 0;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] field = line.split("\t");
            cases++;
            Machine machine = new Machine();
            machine.addRule("policy", field[0]);
            boolean answer = !machine.rulesForJSONEvent(field[1]).isEmpty();
            if (answer == Boolean.parseBoolean(field[2])) {
                continue;
            }
            if (field[0].contains("numeric") && field[1].contains("12345678901") || field[0].matches(".*\"[a-z]+\\.[a-z]+\":.*")
                    || field[0].contains("\"wildcard\"") && field[0].contains("\"equals-ignore-case\"")) {
                known++;
                continue;
            }
            others++;
            System.out.println("event-ruler says " + answer + ": policy " + field[0] + " body " + field[1]);
        }
        System.out.println("event-ruler: " + cases + " cases, " + known + " known differences, " + others + " others");
        if (others > 0 || known == 0 || cases == 0) {
            System.exit(1);
        }
    }
}
