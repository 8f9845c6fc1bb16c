/// JSON Pointers (RFC 6901).
public enum JSONPointer {
    /// Escapes a member name as a reference token (§3).
    public static func escape(_ name: String) -> String {
        name.contains(where: { $0 == "~" || $0 == "/" })
            ? name.replacing("~", with: "~0").replacing("/", with: "~1") : name
    }
}
