import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * Asks the class of topic configs of the Kafka on the class path, whichever release that is.
 *
 * First a line for each key: "key", name, type, default, and what its values may be: the lowest and
 * the highest number that pass, one beside them or nothing, then the words. Then, for each config
 * that comes in a line (k=v&k=v), a line "config" with what the validator says of it and what a
 * broker says that loads it; nothing where it is taken. Every text is URL-encoded.
 */
public final class TopicConfigs {
    private final Class<?> kind;
    private final Object module;
    private final Object definition;

    private TopicConfigs() throws Exception {
        Class<?> found;
        Object instance = null;
        try {
            found = Class.forName("org.apache.kafka.storage.internals.log.LogConfig");
        } catch (ClassNotFoundException older) {
            found = Class.forName("kafka.log.LogConfig$");
            instance = found.getField("MODULE$").get(null);
        }
        kind = found;
        module = instance;
        definition = definition();
    }

    public static void main(String[] arguments) throws Exception {
        TopicConfigs configs = new TopicConfigs();
        configs.tellKeys();
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Properties config = parsed(line);
            tell("config", configs.validated(config), configs.loaded(config));
        }
        System.out.flush();
        System.exit(0);
    }

    private Object definition() throws Exception {
        Class<?> wanted = Class.forName("org.apache.kafka.common.config.ConfigDef");
        for (Field field : kind.getDeclaredFields()) {
            boolean statically = Modifier.isStatic(field.getModifiers());
            if (wanted.isAssignableFrom(field.getType()) && (statically || module != null)) {
                field.setAccessible(true);
                Object value = field.get(statically ? null : module);
                // Later releases have another one for the brokers' own settings.
                if (value != null
                        && ((Map<?, ?>) method(value, "configKeys").invoke(value))
                            .containsKey("retention.ms")) {
                    return value;
                }
            }
        }
        throw new IllegalStateException("no ConfigDef of topics in " + kind);
    }

    private void tellKeys() throws Exception {
        Map<?, ?> keys = (Map<?, ?>) method(definition, "configKeys").invoke(definition);
        for (Object key : new TreeMap<Object, Object>(keys).values()) {
            String type = String.valueOf(field(key, "type"));
            Object standard = field(key, "defaultValue");
            Object validator = field(key, "validator");
            String[] bounds = bounds(String.valueOf(field(key, "name")), type, standard, validator);
            tell("key", String.valueOf(field(key, "name")), type, shown(standard),
                bounds[0], bounds[1], bounds[2], String.join(",", words(validator)));
        }
    }

    /** The lowest and highest number that pass, and -1 if it passes beside them. */
    private static String[] bounds(String name, String type, Object standard, Object validator)
            throws Exception {
        if (type.equals("DOUBLE")) {
            return new String[] {shown(field(validator, "min")), shown(field(validator, "max")), ""};
        }
        if (!type.equals("INT") && !type.equals("LONG")) {
            return new String[] {"", "", ""};
        }
        boolean narrow = type.equals("INT");
        long least = narrow ? Integer.MIN_VALUE : Long.MIN_VALUE;
        long most = narrow ? Integer.MAX_VALUE : Long.MAX_VALUE;
        long start = passes(validator, name, 1, narrow) ? 1 : ((Number) standard).longValue();
        if (!passes(validator, name, start, narrow)) {
            throw new IllegalStateException(name + " refuses its own default " + start);
        }
        long low = edge(validator, name, start, least, narrow);
        long high = edge(validator, name, start, most, narrow);
        boolean gap = low == -1 && high > 0 && !passes(validator, name, 0, narrow);
        low = gap ? 1 : low;
        boolean beside = gap || ((low > -1 || high < -1) && passes(validator, name, -1, narrow));
        return new String[] {String.valueOf(low), String.valueOf(high), beside ? "-1" : ""};
    }

    /** The last number from `inside` towards `end` that passes. */
    private static long edge(Object validator, String name, long inside, long end, boolean narrow)
            throws Exception {
        if (passes(validator, name, end, narrow)) {
            return end;
        }
        BigInteger passing = BigInteger.valueOf(inside);
        BigInteger failing = BigInteger.valueOf(end);
        while (failing.subtract(passing).abs().compareTo(BigInteger.ONE) > 0) {
            BigInteger middle = passing.add(failing).shiftRight(1);
            if (passes(validator, name, middle.longValueExact(), narrow)) {
                passing = middle;
            } else {
                failing = middle;
            }
        }
        return passing.longValueExact();
    }

    private static boolean passes(Object validator, String name, long number, boolean narrow)
            throws Exception {
        if (validator == null) {
            return true;
        }
        Object value = narrow ? (Object) Integer.valueOf((int) number) : (Object) Long.valueOf(number);
        Method check = validator.getClass().getMethod("ensureValid", String.class, Object.class);
        check.setAccessible(true);
        try {
            check.invoke(validator, name, value);
            return true;
        } catch (InvocationTargetException refused) {
            return false;
        }
    }

    private static List<String> words(Object validator) throws Exception {
        if (validator == null) {
            return new ArrayList<>();
        }
        for (Class<?> each = validator.getClass(); each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                field.setAccessible(true);
                Object value = field.get(validator);
                if (field.getName().equals("validStrings")) {
                    List<String> found = new ArrayList<>();
                    for (Object word : (Iterable<?>) value) {
                        found.add(String.valueOf(word));
                    }
                    return found;
                }
                if (field.getName().equals("validString")) {
                    return words(value);
                }
            }
        }
        return new ArrayList<>();
    }

    private String validated(Properties config) throws Exception {
        Method widest = null;
        for (Method each : kind.getMethods()) {
            boolean wider = widest == null || each.getParameterCount() > widest.getParameterCount();
            if (each.getName().equals("validate") && wider) {
                widest = each;
            }
        }
        List<Object> given = new ArrayList<>();
        for (Class<?> wanted : widest.getParameterTypes()) {
            if (wanted == Properties.class) {
                given.add(config);
            } else {
                // With none of the broker's own settings the later releases check less.
                boolean settings = given.contains(config);
                given.add(wanted == boolean.class ? (Object) Boolean.TRUE
                    : settings ? Map.of("broker.id", "1") : new HashMap<>());
            }
        }
        return refusal(widest, given.toArray());
    }

    private String loaded(Properties config) throws Exception {
        for (Method each : kind.getMethods()) {
            Class<?>[] wanted = each.getParameterTypes();
            if (each.getName().equals("fromProps") && wanted.length == 2
                    && wanted[1] == Properties.class) {
                return refusal(each, new HashMap<>(), config);
            }
        }
        throw new IllegalStateException("no fromProps in " + kind);
    }

    private String refusal(Method asked, Object... given) throws Exception {
        try {
            asked.setAccessible(true);
            asked.invoke(module, given);
            return "";
        } catch (InvocationTargetException refused) {
            return "!" + refused.getCause();
        }
    }

    private static Properties parsed(String line) throws Exception {
        Properties config = new Properties();
        for (String pair : line.split("&")) {
            int at = pair.indexOf('=');
            if (at > 0) {
                config.setProperty(decoded(pair.substring(0, at)), decoded(pair.substring(at + 1)));
            }
        }
        return config;
    }

    private static void tell(String... fields) throws Exception {
        List<String> encoded = new ArrayList<>();
        for (String each : fields) {
            encoded.add(URLEncoder.encode(each, "UTF-8"));
        }
        System.out.println(String.join("\t", encoded));
    }

    private static String shown(Object value) {
        if (value instanceof List) {
            List<String> each = new ArrayList<>();
            for (Object element : (List<?>) value) {
                each.add(String.valueOf(element));
            }
            return String.join(",", each);
        }
        return String.valueOf(value);
    }

    private static String decoded(String text) throws Exception {
        return URLDecoder.decode(text, "UTF-8");
    }

    private static Object field(Object owner, String name) throws Exception {
        for (Class<?> each = owner.getClass(); each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(owner);
                }
            }
        }
        throw new NoSuchFieldException(name + " of " + owner.getClass());
    }

    private static Method method(Object owner, String name) throws Exception {
        Method found = owner.getClass().getMethod(name);
        found.setAccessible(true);
        return found;
    }
}
