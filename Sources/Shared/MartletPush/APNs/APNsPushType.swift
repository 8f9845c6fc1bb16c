/// The header `apns-push-type`.
public enum APNsPushType: String, Sendable, CaseIterable, Codable {
    case alert
    case background
    case complication
    case controls
    case fileProvider = "fileprovider"
    case liveActivity = "liveactivity"
    case location
    case mdm
    case pushToTalk = "pushtotalk"
    case voip
    case widgets

    /// The topic of this type's notifications for an app.
    public func topic(bundleID: String) -> String {
        switch self {
        case .alert, .background, .mdm: bundleID
        case .complication: bundleID + ".complication"
        case .controls: bundleID + ".push-type.controls"
        case .fileProvider: bundleID + ".pushkit.fileprovider"
        case .liveActivity: bundleID + ".push-type.liveactivity"
        case .location: bundleID + ".location-query"
        case .pushToTalk: bundleID + ".voip-ptt"
        case .voip: bundleID + ".voip"
        case .widgets: bundleID + ".push-type.widgets"
        }
    }

    public var maximumPayloadSizeInBytes: Int { self == .voip ? 5_120 : 4_096 }
}

/// The header `apns-priority`.
public enum APNsPriority: Int, Sendable, CaseIterable, Codable {
    /// Deliver immediately.
    case immediate = 10
    /// Deliver at a time that suits the device's battery.
    case considerate = 5
    /// Put the battery above all else; never wakes the device.
    case low = 1
}
