/// A duration in words, such as `30 minutes`, `24 hours` or `7 Tage`.
enum DurationText {
    /// In German for `de` and its variants, otherwise in English.
    ///
    /// Minutes and hours are rounded up, because a few seconds of an invitation's lifetime have already passed. From
    /// two days on, incomplete days are not counted.
    static func text(seconds: Int64, language: String) -> String {
        let isGerman = language.lowercased().split(separator: "-").first == "de"
        let (minutes, hours) = ((seconds + 59) / 60, (seconds + 3_599) / 3_600)
        if minutes < 60 {
            return counted(minutes, isGerman ? ("Minute", "Minuten") : ("minute", "minutes"))
        }
        if hours < 48 {
            return counted(hours, isGerman ? ("Stunde", "Stunden") : ("hour", "hours"))
        }
        return counted(hours / 24, isGerman ? ("Tag", "Tage") : ("day", "days"))
    }

    private static func counted(_ count: Int64, _ words: (one: String, more: String)) -> String {
        "\(count) \(count == 1 ? words.one : words.more)"
    }
}
