/// Pointers into JSON (RFC 6901).
public enum JSONPointer {
    /// A member's name as a token of a pointer (§3).
    public static func escape(_ name: String) -> String {
        name.contains(where: { $0 == "~" || $0 == "/" }) ? name.replacing("~", with: "~0").replacing("/", with: "~1") : name
    }
}
