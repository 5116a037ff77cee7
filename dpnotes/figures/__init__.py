"""Every figure of the book, by name: `get`, `all_figures`. One module a chapter; each figure is one pure function."""

from dpnotes.figures._registry import FigureSpec, Slider, all_figures, get

__all__ = ["FigureSpec", "Slider", "all_figures", "get"]
