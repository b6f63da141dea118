package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Answers a batch of questions in a line with a line, to the end of its input.
 *
 * {"kind": KIND, "inputs": [...]} gets [{"output": ...} or {"error": class, "message": text}, ...].
 * The arguments are the classes of the families whose kinds are known.
 */
public final class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Oracle() {
    }

    public static void main(String[] families) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Map<String, Kinds.Answer> kinds = new HashMap<>();
        for (String family : families) {
            kinds.putAll(((Kinds) Class.forName(family).getConstructor().newInstance()).answers());
        }
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = JSON.readTree(line);
            Kinds.Answer answer = kinds.get(asked.get("kind").asText());
            List<Object> answers = new ArrayList<>();
            for (JsonNode input : asked.get("inputs")) {
                answers.add(answered(answer, input));
            }
            out.write(JSON.writeValueAsBytes(answers));
            out.write('\n');
            out.flush();
        }
    }

    private static Map<String, Object> answered(Kinds.Answer answer, JsonNode input) {
        Map<String, Object> found = new LinkedHashMap<>();
        try {
            found.put("output", answer.to(input));
        } catch (Throwable thrown) {
            Throwable cause =
                thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
            found.put("error", cause.getClass().getSimpleName());
            found.put("message", String.valueOf(cause.getMessage()));
        }
        return found;
    }
}
