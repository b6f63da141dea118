package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;

/** A family of questions, by the name of each; what Kafka throws is the answer as well. */
public interface Kinds {
    Map<String, Answer> answers();

    interface Answer {
        /** Returns anything that Jackson writes: maps, lists, numbers, texts, null. */
        Object to(JsonNode input) throws Exception;
    }
}
