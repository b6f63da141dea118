package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Reads parts of a question. */
public final class Read {
    private Read() {
    }

    public static List<Integer> ints(JsonNode list) {
        return list(list, JsonNode::intValue);
    }

    public static List<String> texts(JsonNode list) {
        return list(list, JsonNode::textValue);
    }

    public static <T> List<T> list(JsonNode list, Function<JsonNode, T> read) {
        List<T> found = new ArrayList<>();
        if (list != null) {
            list.forEach(each -> found.add(read.apply(each)));
        }
        return found;
    }

    /** In the order of the question. */
    public static <T> Map<String, T> map(JsonNode object, Function<JsonNode, T> read) {
        Map<String, T> found = new LinkedHashMap<>();
        if (object != null) {
            object.fields().forEachRemaining(e -> found.put(e.getKey(), read.apply(e.getValue())));
        }
        return found;
    }

    /** Null where it is absent or null. */
    public static String text(JsonNode object, String field) {
        JsonNode found = object.get(field);
        return found == null ? null : found.textValue();
    }

    public static int number(JsonNode object, String field, int absent) {
        JsonNode found = object.get(field);
        return found == null || found.isNull() ? absent : found.intValue();
    }
}
