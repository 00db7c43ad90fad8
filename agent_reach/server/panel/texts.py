"""What the panel says, in English and Chinese."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

LANGUAGES: Final = {"en": "English", "zh": "中文"}

_CHINESE: Final[dict[str, str]] = {
    "Now": "当前",
    "Sessions": "会话",
    "Intents": "意图",
    "Knowledge": "知识",
    "Compensation": "补偿",
    "Evaluations": "评测",
    "range": "时间",
    "agent": "智能体",
    "intent": "意图",
    "route version": "路由版本",
    "all": "全部",
    "show": "查看",
    "search sessions": "搜索会话",
    "fleet ReachScore": "整体可达分",
    "sessions": "会话数",
    "calls/min": "调用/分钟",
    "empties %": "空结果 %",
    "rungs/min": "补偿/分钟",
    "Agents, the worst first": "智能体排名（差者在前）",
    "score": "得分",
    "tool": "工具",
    "knowledge": "知识",
    "task": "任务",
    "broken": "断裂",
    "degraded": "下降",
    "healthy": "正常",
    "broken sessions": "异常会话",
    "calls": "调用",
    "trend": "走势",
    "Links over time": "三条链路走势",
    "Last failures": "最近的失败",
    "time (UTC)": "时间 (UTC)",
    "link": "链路",
    "stage": "阶段",
    "cause": "原因",
    "what was done": "已采取的补偿",
    "session": "会话",
    "turns": "轮次",
    "failed": "失败",
    "empty": "空",
    "guessed": "猜测作答",
    "band": "等级",
    "no data": "无数据",
    "Nothing arrived in this range.": "该时间段内没有数据。",
    "Nothing in this range matches the filters.": "该时间段内没有符合筛选条件的数据。",
    "There is no such page.": "没有这个页面。",
    "repaired by compensation": "由补偿修复",
    "since": "始于",
    "Send spans here:": "将 span 发送到这里：",
    "or try it with the demo:": "或用演示数据试试：",
    "snapshot": "快照",
    "retry": "重试",
    "reroute": "改道",
    "human": "转人工",
    "as of": "截至",
    "Where it broke": "断裂之处",
    "All links were reached.": "所有链路均可达。",
    "Events": "事件",
    "event": "事件",
    "what": "内容",
    "status": "状态",
    "ms": "毫秒",
    "expected": "应调用",
    "offered": "可选工具",
    "chosen": "实际调用",
    "verdict": "判定",
    "finding": "判断依据",
    "arguments": "参数",
    "result": "结果",
    "not captured": "未采集",
    "attributes": "属性",
    "Needed tool by intent": "意图 × 应调用工具",
    "candidate": "候选可达",
    "precise": "精确可达",
    "needed tool": "应调用工具",
    "under 30 calls: hatched": "少于 30 次调用：以斜纹标出",
    "Tools, hot and cold": "工具冷热",
    "Misses": "未命中",
    "Recall and semantic hit over time": "召回与语义命中走势",
    "recall": "召回",
    "semantic hit": "语义命中",
    "Where relevant fragments stood": "相关片段的位置",
    "position": "位置",
    "mean relevance": "平均相关度",
    "Sources, by fragments never used": "知识源（按未用片段排序）",
    "source": "来源",
    "retrievals": "检索",
    "fragments": "片段",
    "relevant": "相关",
    "admitted": "采纳",
    "never used": "未用",
    "cited in replies": "回复引用",
    "The ladder": "补偿阶梯",
    "rung": "阶梯",
    "saved": "挽回",
    "saved %": "挽回 %",
    "none": "无",
    "Tools under compensation": "各工具补偿情况",
    "short at first": "首次未达",
    "refused by breaker": "被熔断拒绝",
    "rate limited": "被限流",
    "Failures by minute of the hour": "每小时内各分钟的失败",
    "No evaluation has been stored yet.": "尚无评测记录。",
    "Alerts": "告警",
    "token": "令牌",
    "log in": "登录",
    "That is not the token.": "令牌不正确。",
    "This panel asks for the token that it was started with.": "请输入启动面板时设置的令牌。",
    "No such session in the store.": "存储中没有该会话。",
    "Nothing is missing in this range.": "该时间段内没有缺失。",
    "skip to content": "跳到正文",
    "updated": "更新于",
    "only broken": "仅异常",
    "Faults of the observer itself": "观测端自身的故障",
    "turn": "轮",
    "waiting to be stored": "等待写入",
}


def translator(language: str) -> Callable[[str], str]:
    """A function from an English text to the language; what has no translation stays English."""
    table = _CHINESE if language == "zh" else {}
    return lambda text: table.get(text, text)


def language_of(chosen: str, accepted: str) -> str:
    """The chosen language, else the browser's first one that is known, else English."""
    if chosen in LANGUAGES:
        return chosen
    for part in accepted.lower().split(","):
        code = part.strip()[:2]
        if code in LANGUAGES:
            return code
    return "en"
