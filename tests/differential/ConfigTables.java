// Prints the configuration tables of the Kafka jars on the class path: one line a key, tab separated.
//
//   java -cp '<libs>/*' ConfigTables.java
//   table  name  type  default (\N: none given)  validator text (- : any value)  scope or broker-level synonym  hidden
//
// Tables: broker, topic, group, client_metrics. Scope of a broker key: read-only, per-broker, cluster-wide. Used by
// configs_against_jar.py, which compares it with the tables that Cordwood declares.

import java.lang.reflect.Field;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

public class ConfigTables {
  static String text(ConfigDef.ConfigKey key) {
    if (!key.hasDefault() || key.defaultValue == null) return "\\N";
    return ConfigDef.convertToString(key.defaultValue, key.type);
  }

  // A list's own text does not say whether it may be empty, so it is written out here.
  static String rule(ConfigDef.Validator validator) throws Exception {
    if (validator == null) return "-";
    if (!(validator instanceof ConfigDef.ValidList)) return validator.toString();
    Field empty = ConfigDef.ValidList.class.getDeclaredField("isEmptyAllowed");
    empty.setAccessible(true);
    String choices = validator.toString().isEmpty() ? "anything" : validator.toString();
    return "list of " + choices + (empty.getBoolean(validator) ? " or empty" : "");
  }

  static void print(String table, ConfigDef.ConfigKey key, String extra) throws Exception {
    String validator = rule(key.validator);
    System.out.println(String.join("\t", table, key.name, key.type.toString(), text(key), validator, extra,
                                   key.internalConfig ? "hidden" : "shown"));
  }

  static Object field(Class<?> holder, String name) throws Exception {
    Field field = holder.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(null);
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> modes = org.apache.kafka.server.config.DynamicBrokerConfig.dynamicConfigUpdateModes();
    for (ConfigDef.ConfigKey key :
         new TreeMap<>(org.apache.kafka.server.config.AbstractKafkaConfig.CONFIG_DEF.configKeys()).values()) {
      print("broker", key, modes.getOrDefault(key.name, "read-only"));
    }
    @SuppressWarnings("unchecked")
    Map<String, String> synonyms = (Map<String, String>) field(
        org.apache.kafka.server.config.ServerTopicConfigSynonyms.class, "TOPIC_CONFIG_SYNONYMS");
    for (ConfigDef.ConfigKey key :
         new TreeMap<>(org.apache.kafka.storage.internals.log.LogConfig.configKeys()).values()) {
      print("topic", key, synonyms.getOrDefault(key.name, "-"));
    }
    for (ConfigDef.ConfigKey key :
         new TreeMap<>(org.apache.kafka.coordinator.group.GroupConfig.CONFIG_DEF.configKeys()).values()) {
      Optional<String> synonym = org.apache.kafka.coordinator.group.GroupConfig.brokerSynonym(key.name);
      print("group", key, synonym.orElse("-"));
    }
    for (ConfigDef.ConfigKey key :
         new TreeMap<>(org.apache.kafka.server.metrics.ClientMetricsConfigs.configDef().configKeys()).values()) {
      print("client_metrics", key, "-");
    }
  }
}
