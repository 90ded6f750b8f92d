// Messages as Apache Kafka's own classes write and read them, for comparison with ours. One line each:
//   <name> v<version> <hex>
//
//   java -cp '<jars>/*' MessageBytes.java make SEED COUNT NAME:FIRST:LAST...
//       prints COUNT messages of each version with random contents
//   java -cp '<jars>/*' MessageBytes.java check
//       reads lines from stdin, decodes and encodes each, and prints those that change
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;

public class MessageBytes {
  static final String[] PLACES = {"org.apache.kafka.common.message.%sData", "org.apache.kafka.common.message.%s",
      "org.apache.kafka.common.metadata.%s", "org.apache.kafka.coordinator.group.generated.%s"};

  static Message make(String name) throws Exception {
    for (String place : PLACES) {
      try {
        return (Message) Class.forName(String.format(place, name)).getDeclaredConstructor().newInstance();
      } catch (ClassNotFoundException e) {
        continue;
      }
    }
    throw new IllegalArgumentException("Kafka has no message " + name);
  }

  static byte[] bytes(Message message, short version) {
    return MessageUtil.toByteBufferAccessor(message, version).buffer().array();
  }

  // Sets every field of `target` at random; one that `version` of the whole message cannot carry goes back.
  static void fill(Object target, Message whole, short version, Random random) throws Exception {
    Method[] methods = target.getClass().getMethods();
    Arrays.sort(methods, Comparator.comparing(Method::getName));
    for (Method set : methods) {
      if (!set.getName().startsWith("set") || set.getParameterCount() != 1) continue;
      String field = Character.toLowerCase(set.getName().charAt(3)) + set.getName().substring(4);
      Object before;
      try {
        before = target.getClass().getMethod(field).invoke(target);
      } catch (NoSuchMethodException e) {
        continue;
      }
      Object chosen = value(set.getGenericParameterTypes()[0], random);
      boolean kept = attempt(set, target, before, chosen, whole, version);
      if (kept && !set.getParameterTypes()[0].isPrimitive() && random.nextInt(4) == 0) {
        Object filled = target.getClass().getMethod(field).invoke(target);
        attempt(set, target, filled, null, whole, version);
      }
      Object now = target.getClass().getMethod(field).invoke(target);
      if (now == null) continue;
      // Nested ones are filled where they hang, so that the whole can be tried after each of their fields.
      if (now instanceof Message) fill(now, whole, version, random);
      if (now instanceof Collection<?> elements) {
        List<Object> copy = new ArrayList<>(elements);
        if (!copy.isEmpty() && copy.get(0) instanceof Message) {
          @SuppressWarnings("unchecked") Collection<Object> raw = (Collection<Object>) now;
          // One by one: clear() leaves the elements of a keyed collection linked, and it would take none of them again.
          for (var each = raw.iterator(); each.hasNext(); each.remove()) each.next();
          for (Object element : copy) {
            raw.add(element);
            fill(element, whole, version, random);
          }
        }
      }
    }
  }

  static boolean attempt(Method set, Object target, Object before, Object chosen, Message whole, short version)
      throws Exception {
    set.invoke(target, chosen);
    try {
      bytes(whole, version);
      return true;
    } catch (RuntimeException cannot) {
      set.invoke(target, before);
      return false;
    }
  }

  static Object value(Type type, Random random) throws Exception {
    if (type == boolean.class) return random.nextBoolean();
    if (type == byte.class || type == Byte.class) return (byte) random.nextInt();
    if (type == short.class || type == Short.class) return (short) random.nextInt(130);
    // Of 16 bits, since some fields are an int here and a u16 on the wire.
    if (type == int.class || type == Integer.class) return random.nextInt(65536);
    if (type == long.class || type == Long.class) return random.nextLong();
    if (type == double.class) return random.nextInt() / 8.0;
    if (type == String.class) return text(random);
    if (type == Uuid.class) return new Uuid(random.nextLong(), random.nextLong());
    if (type == byte[].class) return text(random).getBytes();
    if (type == ByteBuffer.class) return ByteBuffer.wrap(text(random).getBytes());
    if (type == BaseRecords.class) return MemoryRecords.readableRecords(ByteBuffer.wrap(text(random).getBytes()));
    if (type instanceof ParameterizedType list && list.getRawType() == List.class) {
      List<Object> elements = new ArrayList<>();
      for (int i = random.nextInt(3); i > 0; --i) {
        elements.add(value(list.getActualTypeArguments()[0], random));
      }
      return elements;
    }
    Class<?> kind = (Class<?>) type;
    Object made = kind.getDeclaredConstructor().newInstance();
    if (made instanceof Collection<?>) {
      @SuppressWarnings("unchecked") Collection<Object> elements = (Collection<Object>) made;
      String name = kind.getName().replaceAll("Collection$", "");
      for (int i = random.nextInt(3); i > 0; --i) {
        elements.add(Class.forName(name).getDeclaredConstructor().newInstance());
      }
    }
    return made;
  }

  static String text(Random random) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(40) == 0 ? 130 : random.nextInt(6); i > 0; --i) {
      text.append((char) ('a' + random.nextInt(26)));
    }
    return text.toString();
  }

  public static void main(String[] arguments) throws Exception {
    HexFormat hex = HexFormat.of();
    if (arguments[0].equals("make")) {
      long seed = Long.parseLong(arguments[1]);
      for (String argument : List.of(arguments).subList(3, arguments.length)) {
        String[] parts = argument.split(":");
        for (short version = Short.parseShort(parts[1]); version <= Short.parseShort(parts[2]); ++version) {
          for (int i = 0; i < Integer.parseInt(arguments[2]); ++i) {
            Message message = make(parts[0]);
            fill(message, message, version, new Random(seed + i));
            System.out.println(parts[0] + " v" + version + " " + hex.formatHex(bytes(message, version)));
          }
        }
      }
      return;
    }
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    int count = 0, changed = 0;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] parts = line.split(" ", -1);
      short version = Short.parseShort(parts[1].substring(1));
      ++count;
      String again;
      try {
        Message message = make(parts[0]);
        ByteBufferAccessor reader = new ByteBufferAccessor(ByteBuffer.wrap(hex.parseHex(parts[2])));
        message.read(reader, version);
        again = reader.remaining() > 0 ? reader.remaining() + " bytes left" : hex.formatHex(bytes(message, version));
      } catch (RuntimeException e) {
        again = e.toString();
      }
      if (!again.equals(parts[2])) {
        ++changed;
        System.out.println(line + "\n  Kafka: " + again);
      }
    }
    System.out.println(count + " messages checked, " + changed + " changed");
    System.exit(changed == 0 && count > 0 ? 0 : 1);
  }
}
